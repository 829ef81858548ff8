/**
 * Database rows of the embedded ledger: accounts, senders of transactions and
 * key servers. All of them can be computed from the log; the rows make them
 * quick to find.
 *
 * @module
 */

import type { AccountState } from "../../shared/ledger/account_contract.ts";
import { firstGasCoin } from "../../shared/ledger/gas_chain.ts";
import { sha256 } from "../../shared/ledger/digest.ts";
import type { ObjectRef } from "../../shared/ledger/transaction.ts";
import { RowColumns } from "../store/row_columns.ts";
import {
  columnBytes,
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "../store/sqlite/row_columns.ts";
import type { LedgerFile } from "./ledger_file.ts";

/** An account's row. */
export interface AccountRow extends AccountState {
  /**
   * Whether the account's owner has signed for it: then only the owner's
   * transactions change its keys.
   */
  readonly isSigned: boolean;
  /** Whether the operator has switched it off. */
  readonly isQuarantined: boolean;
  /** The number of the account's changes, from 1. */
  readonly version: number;
  /** The digest of the log entry that changed the account last, 32 bytes. */
  readonly changedBy: Uint8Array;
}

/** What a log entry is applied to. */
export interface EntryContext {
  /** The package of the accounts' contract. */
  readonly packageId: string;
  /**
   * The account that the entry is about; undefined when it does not exist yet.
   */
  readonly account: AccountRow | undefined;
  /** The time of the entry, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The entry's digest, 32 bytes. */
  readonly digest: Uint8Array;
}

/** A key server to add. */
export interface KeyServerInput {
  /** The key server's name. */
  readonly name: string;
  /** The key server's URL. */
  readonly url: string;
  /** The key server's public key, 96 bytes. */
  readonly publicKey: Uint8Array;
}

/** A key server's row. */
export interface KeyServerRow extends KeyServerInput {
  /** The key server's object id, which follows from its public key. */
  readonly objectId: string;
  /** The digest of the log entry that changed the key server last, 32 bytes. */
  readonly changedBy: Uint8Array;
}

/** The row of an address that has sent transactions. */
export interface SenderRow {
  /** The address. */
  readonly address: string;
  /** The coin that has to pay for the address's next transaction. */
  readonly coin: ObjectRef;
  /** The digest of the address's last transaction. */
  readonly lastDigest: Uint8Array;
}

const SELECT = `SELECT a.*, k.public_key, k.address, k.label,
    k.created_ms AS key_ms
  FROM accounts a LEFT JOIN delegate_keys k ON k.account_id = a.account_id`;

const KEY_SERVERS = new RowColumns<KeyServerRow>({
  objectId: "object_id",
  name: "name",
  url: "url",
  publicKey: "public_key",
  changedBy: "changed_by",
}, []);

const STATEMENTS = {
  byId: `${SELECT} WHERE a.account_id = ? ORDER BY k.position`,
  byOwner: `${SELECT} WHERE a.owner = ? ORDER BY k.position`,
  byEntry: `${SELECT} WHERE a.entry_id = ? ORDER BY k.position`,
  // When several accounts have the key, an active one wins, then the one that
  // got the key first. Positions alone do not tell that: a copy that is made from
  // the log has accounts of before the log in another order than their file.
  byKey: `${SELECT} WHERE a.account_id = (
    SELECT o.account_id FROM delegate_keys d
    JOIN accounts o ON o.account_id = d.account_id
    WHERE d.public_key = ?
    ORDER BY o.is_active AND NOT o.is_quarantined DESC, d.created_ms,
      d.position LIMIT 1
  ) ORDER BY k.position`,
  ids: `SELECT account_id FROM accounts WHERE account_id > ?
    ORDER BY account_id LIMIT ?`,
  count: "SELECT count(*) AS accounts FROM accounts",
  version: "PRAGMA data_version",
  write: `INSERT INTO accounts(account_id, owner, is_active, created_ms,
      access_counter, is_signed, is_quarantined, version, changed_by, entry_id)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(account_id) DO UPDATE SET is_active = excluded.is_active,
      created_ms = excluded.created_ms,
      access_counter = excluded.access_counter, is_signed = excluded.is_signed,
      is_quarantined = excluded.is_quarantined, version = excluded.version,
      changed_by = excluded.changed_by, entry_id = excluded.entry_id`,
  keys: "SELECT public_key FROM delegate_keys WHERE account_id = ?",
  insertKey: `INSERT INTO delegate_keys
    (account_id, public_key, address, label, created_ms)
    VALUES(?, ?, ?, ?, ?)`,
  removeKey: `DELETE FROM delegate_keys
    WHERE account_id = ? AND public_key = ?`,
  removeKeys: "DELETE FROM delegate_keys WHERE account_id = ?",
  sender: "SELECT * FROM senders WHERE address = ?",
  senderOfCoin: "SELECT * FROM senders WHERE coin_id = ?",
  writeSender: `INSERT INTO senders VALUES(?, ?, 1, ?)
    ON CONFLICT(address) DO UPDATE SET transactions = transactions + 1,
      last_digest = excluded.last_digest`,
  keyServer: `SELECT ${KEY_SERVERS.selected} FROM key_servers
    WHERE object_id = ?1 OR entry_1_id = ?1 OR entry_2_id = ?1`,
  keyServers: `SELECT ${KEY_SERVERS.selected} FROM key_servers
    ORDER BY object_id`,
  writeKeyServer: `INSERT INTO key_servers VALUES(?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(object_id) DO UPDATE SET name = excluded.name,
      url = excluded.url, changed_by = excluded.changed_by`,
};

/** Reads and writes the rows; nothing is cached. */
export class AccountRows {
  readonly #file: LedgerFile;
  readonly #statements: Statements<typeof STATEMENTS>;

  /** Makes the reader of an open file's rows. */
  constructor(file: LedgerFile) {
    this.#file = file;
    this.#statements = prepareAll(file.db, STATEMENTS);
  }

  /**
   * Returns SQLite's data version, which changes when another process has
   * written to the file.
   */
  dataVersion(): unknown {
    return this.#statements.version.get()?.["data_version"];
  }

  /** The account of an id. */
  byId(accountId: string): AccountRow | undefined {
    return this.#account("byId", accountId);
  }

  /** The account of an owner's address. */
  byOwner(owner: string): AccountRow | undefined {
    return this.#account("byOwner", owner);
  }

  /** Finds an account by the id of its entry in the registry. */
  byEntry(entryId: string): AccountRow | undefined {
    return entryId === "" ? undefined : this.#account("byEntry", entryId);
  }

  /**
   * Finds the account that a key speaks for; an active one where there are
   * several.
   */
  byKey(publicKey: string): AccountRow | undefined {
    return this.#account("byKey", publicKey);
  }

  #account(
    name: "byId" | "byOwner" | "byEntry" | "byKey",
    value: string,
  ): AccountRow | undefined {
    return readAccount(
      this.#file.errors.run(() => this.#statements[name].all(value)),
    );
  }

  /** Returns ids of accounts in order, those after `accountId`. */
  idsAfter(accountId: string, limit: number): readonly string[] {
    const rows = this.#file.errors.run(() =>
      this.#statements.ids.all(accountId, limit)
    );
    return rows.map((row) => String(row["account_id"]));
  }

  /** Returns the number of accounts. */
  count(): number {
    const row = this.#file.errors.run(() => this.#statements.count.get());
    return Number(row?.["accounts"] ?? 0);
  }

  /**
   * Writes an account's row and its keys; runs within a transaction of the
   * file.
   *
   * @param entryId The id of the account's entry in the registry.
   */
  write(account: AccountRow, entryId: string): void {
    const { write, keys, insertKey, removeKey } = this.#statements;
    const { accountId } = account;
    write.run(
      ...[accountId, account.owner, account.isActive ? 1 : 0],
      ...[account.createdAtMs, account.accessCounter],
      ...[account.isSigned ? 1 : 0, account.isQuarantined ? 1 : 0],
      ...[account.version, account.changedBy, entryId],
    );
    const wanted = new Set(account.delegateKeys.map((key) => key.publicKey));
    const there = new Set<string>();
    for (const row of keys.all(accountId)) {
      const publicKey = String(row["public_key"]);
      if (wanted.has(publicKey)) there.add(publicKey);
      else removeKey.run(accountId, publicKey);
    }
    for (const key of account.delegateKeys) {
      if (there.has(key.publicKey)) continue;
      insertKey.run(
        ...[accountId, key.publicKey, key.address, key.label, key.createdAtMs],
      );
    }
  }

  /** Removes an account's keys; runs within a transaction of the file. */
  removeKeys(accountId: string): void {
    this.#statements.removeKeys.run(accountId);
  }

  /**
   * Returns the gas coin of the next transaction of an address.
   */
  getCoin(address: string): ObjectRef {
    return this.sender(address)?.coin ?? firstGasCoin(address);
  }

  /** An address that has sent transactions. */
  sender(address: string): SenderRow | undefined {
    const { sender } = this.#statements;
    return readSender(this.#file.errors.run(() => sender.get(address)));
  }

  /**
   * Finds the address whose transactions a coin pays for; undefined until it
   * has sent one.
   */
  senderOfCoin(coinId: string): SenderRow | undefined {
    const { senderOfCoin } = this.#statements;
    return readSender(this.#file.errors.run(() => senderOfCoin.get(coinId)));
  }

  /**
   * Records a transaction of an address; runs within a transaction of the file.
   */
  noteTransaction(address: string, digest: Uint8Array): void {
    const { objectId } = firstGasCoin(address);
    this.#statements.writeSender.run(address, objectId, digest);
  }

  /** The key server of its object's id, or of the id of one of its entries. */
  keyServer(objectId: string): KeyServerRow | undefined {
    const { keyServer } = this.#statements;
    const row = this.#file.errors.run(() => keyServer.get(objectId));
    return row && KEY_SERVERS.readRow(row);
  }

  /** All key servers. */
  keyServers(): readonly KeyServerRow[] {
    const { keyServers } = this.#statements;
    const rows = this.#file.errors.run(() => keyServers.all());
    return rows.map((row) => KEY_SERVERS.readRow(row));
  }

  /**
   * Writes a key server; runs within a transaction of the file.
   *
   * @param entryIds The ids of the objects that hold its two versions.
   */
  writeKeyServer(
    server: KeyServerRow,
    entryIds: readonly [string, string],
  ): void {
    const { objectId, name, url, publicKey, changedBy } = server;
    this.#statements.writeKeyServer.run(
      ...[objectId, name, url, publicKey, ...entryIds, changedBy],
    );
  }
}

function readAccount(rows: readonly DatabaseRecord[]): AccountRow | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  return {
    accountId: String(first["account_id"]),
    owner: String(first["owner"]),
    isActive: first["is_active"] === 1,
    createdAtMs: Number(first["created_ms"]),
    delegateKeys: rows.flatMap(readKeys),
    accessCounter: BigInt(Number(first["access_counter"])),
    isSigned: first["is_signed"] === 1,
    isQuarantined: first["is_quarantined"] === 1,
    version: Number(first["version"]),
    changedBy: columnBytes(first["changed_by"]),
  };
}

/** Returns the key in a row; none when the account has no keys. */
function readKeys(row: DatabaseRecord): AccountRow["delegateKeys"] {
  if (row["public_key"] === null) return [];
  return [{
    publicKey: String(row["public_key"]),
    address: String(row["address"]),
    label: String(row["label"]),
    createdAtMs: Number(row["key_ms"]),
  }];
}

function readSender(row: DatabaseRecord | undefined): SenderRow | undefined {
  if (row === undefined) return undefined;
  const address = String(row["address"]);
  const lastDigest = columnBytes(row["last_digest"]);
  const coin = {
    objectId: String(row["coin_id"]),
    version: BigInt(Number(row["transactions"])) + 1n,
    digest: sha256(lastDigest),
  };
  return { address, coin, lastDigest };
}
