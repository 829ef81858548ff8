/**
 * Objects of the embedded ledger, as clients of the public ledger know them: their
 * fields as JSON and their bytes in BCS, as the contract's structs lay them out.
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
  /** Its id. */
  readonly objectId: string;
  /** Its version, from 1. */
  readonly version: bigint;
  /** Its digest, in base58; another one in each version. */
  readonly digest: string;
  /** Its type. */
  readonly type: string;
  /** Whose it is. */
  readonly owner: ObjectChange["owner"];
  /** Whether whose it is may give it to others. */
  readonly hasPublicTransfer: boolean;
  /** Its fields, as the public ledger's JSON has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Its bytes in BCS. */
  readonly contents: Uint8Array;
  /** The digest of what changed it last, in base58. */
  readonly previousTransaction: string;
}

/** What every sender's coin shows as its balance: it never gets less. */
export const COIN_BALANCE = 1_000_000_000_000_000n;
/** The type of what pays for transactions. */
export const GAS_TYPE = "0x2::sui::SUI";
/** The type of coins of it. */
const COIN_TYPE = `0x2::coin::Coin<${GAS_TYPE}>`;
/** The contract's own version, which the registry names. */
const CONTRACT_VERSION = 4n;

/** Whose an object is that everybody may use. */
export const SHARED = { kind: "shared" } as const;

/** An object without what follows from the rest. */
type ObjectParts = Omit<MoveObject, "digest" | "previousTransaction"> & {
  /** The digest of what changed it last. */
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

/** What made the objects that were there from the beginning. */
export function genesisDigest(packageId: string): Uint8Array {
  return sha256(packageId);
}

/** An account. */
export function accountObject(
  account: AccountRow,
  packageId: string,
): MoveObject {
  const { accountId, owner, createdAtMs, delegateKeys } = account;
  // What the operator switched off is off for every reader.
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

/** Types of names of entries, as BCS has them. */
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

/** The object that tells the time. */
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

/** What pays for a sender's next transaction. */
export function coinObject(
  { address, coin, lastDigest }: SenderRow,
): MoveObject {
  const { objectId, version } = coin;
  return {
    objectId,
    version,
    // Not over its contents, but over the transaction before: see gas_chain.ts.
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
