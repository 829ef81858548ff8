/**
 * Objects of the embedded ledger in the forms that clients of the public ledger
 * read: their fields as JSON, and their bytes in BCS in the layout of the
 * contract's structs.
 *
 * @module
 */

import { addressBytes, BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  CLOCK_ID,
  registryIdOf,
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
import type { ObjectChange } from "./ledger_log.ts";

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

/** The balance that every sender's coin shows; it never decreases. */
export const COIN_BALANCE = 1_000_000_000_000_000n;
/** The type of the currency that pays for transactions. */
export const GAS_TYPE = "0x2::sui::SUI";
/** The type of coins of that currency. */
const COIN_TYPE = `0x2::coin::Coin<${GAS_TYPE}>`;
/** The contract's own version, which the registry names. */
const CONTRACT_VERSION = 4n;

/** The owner of objects that everybody may use. */
export const SHARED = { kind: "shared" } as const;

/** An object without the members that are computed. */
type ObjectParts = Omit<MoveObject, "digest" | "previousTransaction"> & {
  /** The digest of the transaction or command that changed the object last. */
  readonly changedBy: Uint8Array;
};

/** An object with its digest. */
export function objectOf({ changedBy, ...parts }: ObjectParts): MoveObject {
  const { objectId, version, contents } = parts;
  const digest = sha256(`object ${objectId} ${version} `, contents);
  return {
    ...parts,
    digest: encodeBase58(digest),
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
  const { accountId, owner, createdAtMs, delegateKeys } = account;
  // An account that the operator has switched off is inactive for every reader.
  const isActive = account.isActive && !account.isQuarantined;
  const counter = account.accessCounter;
  const contents = new BcsWriter().address(accountId).address(owner)
    .vector(
      delegateKeys,
      (writer, key) =>
        writer.byteVector(Uint8Array.fromHex(key.publicKey))
          .address(key.address).string(key.label).u64(BigInt(key.createdAtMs)),
    )
    .u64(BigInt(createdAtMs)).bool(isActive).bool(account.isQuarantined)
    .option(undefined, () => undefined).u64(counter).toBytes();
  return objectOf({
    objectId: accountId,
    version: BigInt(account.version),
    type: `${packageId}::${ACCOUNT_TYPE}`,
    owner: SHARED,
    hasPublicTransfer: true,
    fields: {
      id: { id: accountId },
      owner,
      delegate_keys: delegateKeys.map((key) => ({
        type: `${packageId}::account::DelegateKey`,
        fields: {
          public_key: [...Uint8Array.fromHex(key.publicKey)],
          sui_address: key.address,
          label: key.label,
          created_at: String(key.createdAtMs),
        },
      })),
      created_at: String(createdAtMs),
      active: isActive,
      admin_quarantined: account.isQuarantined,
      legacy_account_id: null,
      access_counter_version: String(counter),
    },
    contents,
    changedBy: account.changedBy,
  });
}

/** The id of the registry's table. */
function tableIdOf(packageId: string): string {
  return hexId(sha256(`table ${packageId}`));
}

/** The registry, which lists the accounts by owner. */
export function registryObject(
  packageId: string,
  { accounts }: { readonly accounts: number },
): MoveObject {
  const objectId = registryIdOf(packageId);
  const tableId = tableIdOf(packageId);
  const size = BigInt(accounts);
  const contents = new BcsWriter().address(objectId).address(tableId).u64(size)
    .bool(true).option(undefined, () => undefined)
    .u64(0n).u64(0n).u64(0n).u64(0n).u64(CONTRACT_VERSION).toBytes();
  return objectOf({
    objectId,
    version: 1n + size,
    type: `${packageId}::account::AccountRegistry`,
    owner: SHARED,
    hasPublicTransfer: false,
    fields: {
      id: { id: objectId },
      accounts: {
        type: "0x2::table::Table<address, 0x2::object::ID>",
        fields: { id: { id: tableId }, size: String(size) },
      },
      migration_finalized: true,
      pinned_allowlist_root: null,
      expected_account_imports: "0",
      expected_delegate_imports: "0",
      imported_accounts: "0",
      imported_delegates: "0",
      version: String(CONTRACT_VERSION),
    },
    contents,
    changedBy: genesisDigest(packageId),
  });
}

/** The types of entries' names, as BCS encodes them. */
const NAME_TAGS = { address: 4, u64: 2 } as const;

/**
 * The id of an entry below an object: BLAKE2b-256 over a prefix, the object, the
 * name's length and bytes, and the name's type (the public ledger's own rule).
 */
export function entryIdOf(
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
export function registryEntryIdOf(packageId: string, owner: string): string {
  const name = { type: "address", bytes: addressBytes(owner) } as const;
  return entryIdOf(tableIdOf(packageId), name);
}

/** The registry's entry for an owner. */
export function registryEntryObject(
  account: Pick<AccountRow, "accountId" | "owner" | "changedBy">,
  packageId: string,
): MoveObject {
  const { accountId, owner } = account;
  const objectId = registryEntryIdOf(packageId, owner);
  return objectOf({
    objectId,
    version: 1n,
    type: "0x2::dynamic_field::Field<address, 0x2::object::ID>",
    owner: { kind: "object", id: tableIdOf(packageId) },
    hasPublicTransfer: false,
    fields: { id: { id: objectId }, name: owner, value: accountId },
    contents: new BcsWriter().address(objectId).address(owner)
      .address(accountId).toBytes(),
    changedBy: account.changedBy,
  });
}

/** Makes the clock object, which has the time. */
export function clockObject(packageId: string, nowMs: number): MoveObject {
  return objectOf({
    objectId: CLOCK_ID,
    version: 1n,
    type: "0x2::clock::Clock",
    owner: SHARED,
    hasPublicTransfer: false,
    fields: { id: { id: CLOCK_ID }, timestamp_ms: String(nowMs) },
    contents: new BcsWriter().address(CLOCK_ID).u64(BigInt(nowMs)).toBytes(),
    changedBy: genesisDigest(packageId),
  });
}

/** Makes the coin that pays for a sender's next transaction. */
export function coinObject(
  { address, coin, lastDigest }: SenderRow,
): MoveObject {
  const { objectId, version } = coin;
  return {
    objectId,
    version,
    // The digest covers the previous transaction, not the contents: see
    // gas_chain.ts.
    digest: encodeBase58(coin.digest),
    type: COIN_TYPE,
    owner: { kind: "address", id: address },
    hasPublicTransfer: true,
    fields: { id: { id: objectId }, balance: String(COIN_BALANCE) },
    contents: new BcsWriter().address(objectId).u64(COIN_BALANCE).toBytes(),
    previousTransaction: encodeBase58(lastDigest),
  };
}

/** The change of a sender's coin by a transaction. */
export function coinChange(sender: string, coin: ObjectRef): ObjectChange {
  return {
    objectId: coin.objectId,
    type: COIN_TYPE,
    owner: { kind: "address", id: sender },
    version: String(coin.version),
    digest: encodeBase58(coin.digest),
    previousVersion: String(coin.version - 1n),
  };
}
