/**
 * Objects and events of the embedded ledger in the forms that clients of the
 * public ledger read: as JSON, and in BCS in the layout of the contract's
 * structs.
 *
 * @module
 */

import { addressBytes, BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  type AccountEvent,
  type AccountState,
  deriveRegistryId,
} from "../../shared/ledger/account_contract.ts";
import {
  blake2b256,
  encodeBase58,
  hexId,
  sha256,
} from "../../shared/ledger/digest.ts";
import type { ObjectRef } from "../../shared/ledger/transaction.ts";
import type { AccountRow, SenderRow } from "./account_rows.ts";
import { ACCOUNT_TYPE } from "./ledger_id.ts";
import type { LoggedEvent, ObjectChange } from "./ledger_log.ts";
import {
  address,
  bool,
  bytes,
  fieldsBytes,
  fieldsJson,
  type MoveFields,
  NONE,
  string,
  struct,
  u64,
  uid,
  vector,
} from "./move_value.ts";

/** An object. */
export interface MoveObject {
  /** The object's id. */
  readonly objectId: string;
  /** The object's version, from 1. */
  readonly version: bigint;
  /** The object's digest, in base58; it differs from version to version. */
  readonly digest: string;
  /** The object's type. */
  readonly type: string;
  /** The object's owner. */
  readonly owner: ObjectChange["owner"];
  /** Whether the object's owner may transfer it. */
  readonly hasPublicTransfer: boolean;
  /** The object's fields, as the public ledger's JSON has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The object's bytes in BCS. */
  readonly contents: Uint8Array;
  /**
   * The digest of the transaction or command that changed the object last, in
   * base58.
   */
  readonly previousTransaction: string;
}

/** The owner of objects that everybody may use. */
const SHARED = { kind: "shared" } as const;
/** The balance that every sender's coin shows; it never decreases. */
export const COIN_BALANCE = 1_000_000_000_000_000n;
/** The type of the currency that pays for transactions. */
export const GAS_TYPE = "0x2::sui::SUI";
/** The type of coins of that currency. */
const COIN_TYPE = `0x2::coin::Coin<${GAS_TYPE}>`;
/** The contract's own version, which the registry names. */
const CONTRACT_VERSION = 4n;

/** What an object is made of; it is everybody's, and new, unless told. */
interface ObjectParts
  extends
    Pick<MoveObject, "objectId" | "type">,
    Partial<Pick<MoveObject, "version" | "owner" | "hasPublicTransfer">> {
  /** The fields after the id, which is the first. */
  readonly fields: MoveFields;
  /** The digest of the transaction or command that changed the object last. */
  readonly changedBy: Uint8Array;
}

/** Makes an object of its parts. */
export function createObject(
  { fields: others, changedBy, ...parts }: ObjectParts,
): MoveObject {
  const { objectId, version = 1n } = parts;
  const fields = { id: uid(objectId), ...others };
  const contents = fieldsBytes(fields);
  return {
    ...{ version, owner: SHARED, hasPublicTransfer: false, ...parts },
    digest: encodeBase58(sha256(`object ${objectId} ${version} `, contents)),
    fields: fieldsJson(fields),
    contents,
    previousTransaction: encodeBase58(changedBy),
  };
}

/**
 * Returns the digest of the ledger's creation, which made the objects that
 * exist from the start.
 */
export function genesisDigest(packageId: string): Uint8Array {
  return sha256(packageId);
}

/** Makes the object of an account. */
export function accountObject(
  account: AccountRow,
  packageId: string,
): MoveObject {
  const keys = account.delegateKeys.map((key) =>
    struct(`${packageId}::account::DelegateKey`, {
      public_key: bytes(Uint8Array.fromHex(key.publicKey)),
      sui_address: address(key.address),
      label: string(key.label),
      created_at: u64(key.createdAtMs),
    })
  );
  return createObject({
    type: `${packageId}::${ACCOUNT_TYPE}`,
    objectId: account.accountId,
    fields: {
      owner: address(account.owner),
      delegate_keys: vector(keys),
      created_at: u64(account.createdAtMs),
      // An account that the operator has switched off is inactive for every
      // reader.
      active: bool(account.isActive && !account.isQuarantined),
      admin_quarantined: bool(account.isQuarantined),
      legacy_account_id: NONE,
      access_counter_version: u64(account.accessCounter),
    },
    version: BigInt(account.version),
    hasPublicTransfer: true,
    changedBy: account.changedBy,
  });
}

/** The id of the registry's table. */
function deriveTableId(packageId: string): string {
  return hexId(sha256(`table ${packageId}`));
}

/** The registry, which lists the accounts by owner. */
export function registryObject(
  packageId: string,
  { accounts: size }: { readonly accounts: number },
): MoveObject {
  return createObject({
    type: `${packageId}::account::AccountRegistry`,
    objectId: deriveRegistryId(packageId),
    fields: {
      accounts: struct("0x2::table::Table<address, 0x2::object::ID>", {
        id: uid(deriveTableId(packageId)),
        size: u64(size),
      }),
      migration_finalized: bool(true),
      pinned_allowlist_root: NONE,
      expected_account_imports: u64(0),
      expected_delegate_imports: u64(0),
      imported_accounts: u64(0),
      imported_delegates: u64(0),
      version: u64(CONTRACT_VERSION),
    },
    version: 1n + BigInt(size),
    changedBy: genesisDigest(packageId),
  });
}

/** The types of entries' names, as BCS encodes them. */
const NAME_TAGS = { address: 4, u64: 2 } as const;

/**
 * The id of an entry below an object: BLAKE2b-256 over a prefix, the object, the
 * name's length and bytes, and the name's type (the public ledger's own rule).
 */
export function deriveEntryId(
  parentId: string,
  name: { readonly type: keyof typeof NAME_TAGS; readonly bytes: Uint8Array },
): string {
  const length = new BcsWriter().u64(BigInt(name.bytes.length)).toBytes();
  return hexId(blake2b256(
    Uint8Array.of(0xf0),
    addressBytes(parentId),
    length,
    name.bytes,
    Uint8Array.of(NAME_TAGS[name.type]),
  ));
}

/** The id of the registry's entry for an owner. */
export function deriveRegistryEntryId(
  packageId: string,
  owner: string,
): string {
  const name = { type: "address", bytes: addressBytes(owner) } as const;
  return deriveEntryId(deriveTableId(packageId), name);
}

/** The registry's entry for an owner. */
export function registryEntryObject(
  account: Pick<AccountRow, "accountId" | "owner" | "changedBy">,
  packageId: string,
): MoveObject {
  const { accountId, owner, changedBy } = account;
  return createObject({
    type: "0x2::dynamic_field::Field<address, 0x2::object::ID>",
    objectId: deriveRegistryEntryId(packageId, owner),
    fields: { name: address(owner), value: address(accountId) },
    owner: { kind: "object", id: deriveTableId(packageId) },
    changedBy,
  });
}

/** Makes the coin that pays for a sender's next transaction. */
export function coinObject(
  { address: owner, coin, lastDigest }: SenderRow,
): MoveObject {
  const object = createObject({
    objectId: coin.objectId,
    type: COIN_TYPE,
    fields: { balance: u64(COIN_BALANCE) },
    version: coin.version,
    owner: { kind: "address", id: owner },
    hasPublicTransfer: true,
    changedBy: lastDigest,
  });
  // The digest covers the previous transaction, not the contents: see
  // gas_chain.ts.
  return { ...object, digest: encodeBase58(coin.digest) };
}

/** The change of a sender's coin by a transaction. */
export function coinChange(sender: string, coin: ObjectRef): ObjectChange {
  const row = { address: sender, coin, lastDigest: new Uint8Array(0) };
  return toChange(coinObject(row), { isNew: false });
}

/** Returns the change that led to an object as it is now. */
export function toChange(
  object: MoveObject,
  { isNew }: { readonly isNew: boolean },
): ObjectChange {
  const { objectId, type, owner, version, digest } = object;
  return {
    ...{ objectId, type, owner },
    version: String(version),
    digest,
    previousVersion: isNew ? undefined : String(version - 1n),
  };
}

/** Converts an event to the form that the log stores. */
export function loggedEvent(
  event: AccountEvent,
  { accountId, owner }: Pick<AccountState, "accountId" | "owner">,
): LoggedEvent {
  const fields = {
    account_id: address(accountId),
    ...eventFields(event, owner),
  };
  return {
    kind: event.kind,
    fields: fieldsJson(fields),
    bcs: fieldsBytes(fields).toBase64(),
  };
}

function eventFields(event: AccountEvent, owner: string): MoveFields {
  if (
    event.kind !== "DelegateKeyAdded" && event.kind !== "DelegateKeyRemoved"
  ) return { owner: address(owner) };
  const { key } = event;
  const fields = {
    public_key: bytes(Uint8Array.fromHex(key.publicKey)),
    sui_address: address(key.address),
  };
  return event.kind === "DelegateKeyAdded"
    ? { ...fields, label: string(key.label) }
    : fields;
}
