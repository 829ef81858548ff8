/**
 * Objects of the ledger in the form that a full node's JSON-RPC gives them.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { AccountRecord } from "./account_record.ts";
import { encodeBase58 } from "./base58.ts";

/** What of an object is asked for; everything else of it is left out. */
export interface ObjectOptions {
  /** Its type. */
  readonly showType?: unknown;
  /** Who owns it. */
  readonly showOwner?: unknown;
  /** Its fields. */
  readonly showContent?: unknown;
  /** Its bytes. */
  readonly showBcs?: unknown;
  /** What changed it last. */
  readonly showPreviousTransaction?: unknown;
}

/** The module and the name of the type that accounts have on the public ledger. */
export const ACCOUNT_TYPE = "account::MemWalAccount";
const DELEGATE_KEY_TYPE = "account::DelegateKey";
/**
 * Clients take a package of any other version for one that was replaced. Accounts
 * have the same, as their changes are not counted.
 */
const VERSION = "1";

/** The package. */
export function packageObject(
  packageId: string,
  shown: ObjectOptions,
): Readonly<Record<string, unknown>> {
  return {
    ...head(packageId, packageId),
    ...(shown.showType === true ? { type: "package" } : {}),
    ...(shown.showOwner === true ? { owner: "Immutable" } : {}),
    ...previousTransaction(packageId, shown),
    ...(shown.showContent === true
      ? { content: { dataType: "package", disassembled: {} } }
      : {}),
    ...(shown.showBcs === true
      ? {
        bcs: {
          dataType: "package",
          id: packageId,
          version: Number(VERSION),
          moduleMap: {},
          typeOriginTable: [],
          linkageTable: {},
        },
      }
      : {}),
  };
}

/**
 * An account. Its bytes are not given, whatever is asked for: no client that is
 * served here reads them.
 */
export function accountObject(
  account: AccountRecord,
  options: { readonly packageId: string; readonly shown: ObjectOptions },
): Readonly<Record<string, unknown>> {
  const { packageId, shown } = options;
  const type = `${packageId}::${ACCOUNT_TYPE}`;
  const state = JSON.stringify(account);
  return {
    ...head(account.accountId, state),
    ...(shown.showType === true ? { type } : {}),
    ...(shown.showOwner === true
      ? { owner: { Shared: { initial_shared_version: Number(VERSION) } } }
      : {}),
    ...previousTransaction(account.accountId, shown),
    ...(shown.showContent === true
      ? {
        content: {
          dataType: "moveObject",
          type,
          hasPublicTransfer: false,
          fields: fieldsOf(account, packageId),
        },
      }
      : {}),
  };
}

function fieldsOf(
  account: AccountRecord,
  packageId: string,
): Readonly<Record<string, unknown>> {
  return {
    id: { id: account.accountId },
    owner: account.owner,
    active: account.isActive,
    created_at: String(account.createdAtMs),
    delegate_keys: account.delegateKeys.map((key) => ({
      type: `${packageId}::${DELEGATE_KEY_TYPE}`,
      fields: {
        public_key: [...Uint8Array.fromHex(key.publicKey)],
        sui_address: key.address,
        label: key.label,
        created_at: String(key.createdAtMs),
      },
    })),
  };
}

function head(
  objectId: string,
  state: string,
): Readonly<Record<string, unknown>> {
  return { objectId, version: VERSION, digest: digestOf(state) };
}

function previousTransaction(
  objectId: string,
  shown: ObjectOptions,
): Readonly<Record<string, unknown>> {
  return shown.showPreviousTransaction === true
    ? { previousTransaction: digestOf(`transaction ${objectId}`) }
    : {};
}

/** Nobody can check it here; it is another one whenever the object is. */
function digestOf(state: string): string {
  return encodeBase58(createHash("sha256").update(state).digest());
}
