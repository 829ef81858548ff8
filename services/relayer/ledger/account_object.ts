/**
 * Accounts and packages in the form that a full node's JSON-RPC gives them: written for
 * released clients, and read from a full node.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type {
  Account,
  AccountOutcome,
  AccountRecord,
  DelegateKey,
} from "./ledger.ts";
import { addressOfPublicKey, normalizeLedgerId } from "./ledger_id.ts";

/** Digits and letters without those that look alike. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Bytes in base58; each zero byte in front becomes a "1". */
export function encodeBase58(bytes: Uint8Array): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = "";
  for (; value > 0n; value /= 58n) text = ALPHABET[Number(value % 58n)] + text;
  const first = bytes.findIndex((byte) => byte !== 0);
  const zeros = first === -1 ? bytes.length : first;
  return "1".repeat(zeros) + text;
}

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
const ACCOUNT_TYPE = "account::MemWalAccount";
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
    ...headOf(packageId, { state: packageId, shown }),
    type: shown.showType === true ? "package" : undefined,
    owner: shown.showOwner === true ? "Immutable" : undefined,
    content: shown.showContent === true
      ? { dataType: "package", disassembled: {} }
      : undefined,
    bcs: shown.showBcs === true
      ? {
        dataType: "package",
        id: packageId,
        version: Number(VERSION),
        moduleMap: {},
        typeOriginTable: [],
        linkageTable: {},
      }
      : undefined,
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
  return {
    ...headOf(account.accountId, { state: JSON.stringify(account), shown }),
    type: shown.showType === true ? type : undefined,
    owner: shown.showOwner === true
      ? { Shared: { initial_shared_version: Number(VERSION) } }
      : undefined,
    content: shown.showContent === true
      ? {
        dataType: "moveObject",
        type,
        hasPublicTransfer: false,
        fields: fieldsOf(account, packageId),
      }
      : undefined,
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

/** What all objects have; `state` is what the digest changes with. */
function headOf(
  objectId: string,
  { state, shown }: { readonly state: string; readonly shown: ObjectOptions },
): Readonly<Record<string, unknown>> {
  return {
    objectId,
    version: VERSION,
    digest: digestOf(state),
    previousTransaction: shown.showPreviousTransaction === true
      ? digestOf(`transaction ${objectId}`)
      : undefined,
  };
}

/** No client can check it here; it changes whenever the object does. */
function digestOf(state: string): string {
  return encodeBase58(createHash("sha256").update(state).digest());
}

/** Options of {@linkcode readAccountObject}. */
interface ReadAccountOptions {
  /** The id that was asked for, in its normal form. */
  readonly accountId: string;
  /** The package whose module accounts are of, in its normal form. */
  readonly packageId: string;
}

/** Keys beyond these are not read; the ledger allows far fewer. */
const MAX_KEYS = 1_000;

/**
 * Reads the result of asking for an object. An object of another package counts
 * as missing: everybody can publish one whose fields name any owner and any keys.
 */
export function readAccountObject(
  result: unknown,
  options: ReadAccountOptions,
): AccountOutcome {
  const error = member(result, "error");
  if (error !== undefined && error !== null) return outcomeOfError(error);
  const data = member(result, "data");
  const content = member(data, "content");
  if (content === undefined) return broken("it has no content");
  if (idOf(member(data, "objectId")) !== options.accountId) {
    return broken("it is another object than the one asked for");
  }
  if (!isAccountType(member(content, "type"), options.packageId)) {
    return { kind: "missing" };
  }
  const fields = member(content, "fields");
  const owner = idOf(member(fields, "owner"));
  const keys = member(fields, "delegate_keys");
  if (owner === undefined) return broken("it has no owner");
  if (!Array.isArray(keys)) return broken("it has no keys");
  const active = member(fields, "active");
  const account: Account = {
    accountId: options.accountId,
    owner,
    // Early accounts have no such field.
    isActive: active === undefined || active === true,
    delegateKeys: keys.slice(0, MAX_KEYS).flatMap(keysOf),
  };
  return { kind: "ok", account };
}

/** A member of what may be no object at all. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null &&
      Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function outcomeOfError(error: unknown): AccountOutcome {
  const code = member(error, "code");
  return code === "notExists" || code === "deleted"
    ? { kind: "missing" }
    : { kind: "unavailable", reason: `the ledger gives error "${code}"` };
}

/** `0x…::account::…`, the package's id in any spelling. */
function isAccountType(type: unknown, packageId: string): boolean {
  if (typeof type !== "string") return false;
  const at = type.indexOf("::");
  return type.slice(at + 2) === ACCOUNT_TYPE &&
    normalizeLedgerId(type.slice(0, at)) === packageId;
}

/** None when it cannot be read: a key that is not understood admits no request. */
function keysOf(entry: unknown): readonly DelegateKey[] {
  const fields = member(entry, "fields") ?? entry;
  const bytes = member(fields, "public_key");
  if (!Array.isArray(bytes) || bytes.length !== 32 || !bytes.every(isByte)) {
    return [];
  }
  const publicKey = Uint8Array.from(bytes).toHex();
  const label = member(fields, "label");
  return [{
    publicKey,
    address: idOf(member(fields, "sui_address")) ??
      addressOfPublicKey(publicKey),
    label: typeof label === "string" ? label : "",
  }];
}

function isByte(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
}

function idOf(value: unknown): string | undefined {
  return typeof value === "string" ? normalizeLedgerId(value) : undefined;
}

function broken(state: string): AccountOutcome {
  return { kind: "unavailable", reason: `cannot read the object: ${state}` };
}
