/**
 * The database file of the embedded ledger, with the accounts, the log and the
 * catalogue of blobs. The index has a file of its own, so that it can be lost
 * and rebuilt from this one.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { type Clock, steadyMs } from "../../shared/clock.ts";
import { inTransaction } from "../../shared/sqlite/transaction.ts";
import { Batcher } from "../store/sqlite/batcher.ts";
import { FileErrors, openDatabase } from "../store/sqlite/database_file.ts";

/**
 * SQL that migrates the tables from each version to the next; the first text
 * makes version 1. A text that was released never changes.
 */
const STEPS: readonly string[] = [
  `CREATE TABLE accounts(
     account_id TEXT PRIMARY KEY,
     owner TEXT NOT NULL UNIQUE,
     is_active INTEGER NOT NULL,
     created_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE delegate_keys(
     position INTEGER PRIMARY KEY,
     account_id TEXT NOT NULL,
     public_key TEXT NOT NULL,
     address TEXT NOT NULL,
     label TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     UNIQUE(account_id, public_key)
   ) STRICT;
   CREATE INDEX delegate_keys_of_key ON delegate_keys(public_key);
   CREATE TABLE blobs(
     owner TEXT NOT NULL,
     memory_id TEXT NOT NULL,
     namespace TEXT NOT NULL,
     blob_id TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     agent_id TEXT NOT NULL,
     size_bytes INTEGER NOT NULL,
     sealed_index BLOB,
     importance REAL,
     supersedes TEXT,
     PRIMARY KEY(owner, memory_id)
   ) STRICT;
   -- Which memory took the place of which: told by the later one, kept as long as
   -- the earlier one is there.
   CREATE TABLE replacements(
     owner TEXT NOT NULL,
     memory_id TEXT NOT NULL,
     replaced_by TEXT NOT NULL,
     PRIMARY KEY(owner, memory_id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX blobs_of_namespace
     ON blobs(owner, namespace, created_ms, memory_id);
   CREATE INDEX holders_of_blob ON blobs(blob_id);`,
  `ALTER TABLE accounts ADD COLUMN access_counter INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE accounts ADD COLUMN is_signed INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE accounts ADD COLUMN is_quarantined INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE accounts ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE accounts ADD COLUMN changed_by BLOB NOT NULL DEFAULT x'';
   -- The object that lists the account in the registry.
   ALTER TABLE accounts ADD COLUMN entry_id TEXT NOT NULL DEFAULT '';
   CREATE INDEX accounts_of_entry ON accounts(entry_id);
   -- Every change, in order, each with a hash over the one before.
   CREATE TABLE entries(
     sequence INTEGER PRIMARY KEY,
     kind TEXT NOT NULL,
     digest BLOB NOT NULL UNIQUE,
     sender TEXT,
     payload BLOB NOT NULL,
     outcome TEXT NOT NULL,
     time_ms INTEGER NOT NULL,
     hash BLOB NOT NULL
   ) STRICT;
   CREATE INDEX entries_of_sender ON entries(sender, sequence)
     WHERE sender IS NOT NULL;
   CREATE INDEX entries_by_time ON entries(time_ms) WHERE sender IS NOT NULL;
   CREATE TABLE changes(
     object_id TEXT NOT NULL,
     sequence INTEGER NOT NULL,
     PRIMARY KEY(object_id, sequence)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE events(
     sequence INTEGER NOT NULL,
     position INTEGER NOT NULL,
     kind TEXT NOT NULL,
     PRIMARY KEY(sequence, position)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX events_of_kind ON events(kind, sequence, position);
   -- Who has sent transactions: how many, and the digest of the last one.
   CREATE TABLE senders(
     address TEXT PRIMARY KEY,
     coin_id TEXT NOT NULL UNIQUE,
     transactions INTEGER NOT NULL,
     last_digest BLOB NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE key_servers(
     object_id TEXT PRIMARY KEY,
     name TEXT NOT NULL,
     url TEXT NOT NULL,
     public_key BLOB NOT NULL,
     entry_1_id TEXT NOT NULL UNIQUE,
     entry_2_id TEXT NOT NULL UNIQUE,
     changed_by BLOB NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE blobs ADD COLUMN memory_secret BLOB;`,
];

/**
 * Makes the tables of a ledger as temporary ones, which only this
 * connection has, and which end with it.
 */
export function makeTemporaryLedger(db: DatabaseSync): void {
  for (const step of STEPS) {
    db.exec(step.replaceAll("CREATE TABLE", "CREATE TEMP TABLE"));
  }
}

/**
 * Migrates the tables to the newest version, in one transaction.
 *
 * @throws {Error} when the file has a later version than this program knows
 */
function migrateLedger(db: DatabaseSync): void {
  inTransaction(db, () => {
    const version = Number(
      db.prepare("PRAGMA user_version").get()
        ?.["user_version"],
    );
    if (version > STEPS.length) {
      throw new Error(
        `Cannot open the ledger: its file is of version ${version}, this ` +
          `program knows up to version ${STEPS.length}; start a later program`,
      );
    }
    // Nothing is written when the file is up to date, so that it opens on a
    // full disk as well.
    if (version === STEPS.length) return;
    for (const step of STEPS.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${STEPS.length}`);
  });
}

const MAX_QUEUED = 20_000;
const MAX_QUEUED_BYTES = 64 * 1_048_576;

/** Queues writes of a ledger. */
export interface LedgerWrites {
  /** Runs a write within a transaction, perhaps more than once. */
  add<T>(
    apply: () => T,
    options: {
      /** About how many bytes it takes while it waits. */
      readonly bytes: number;
      /** The network address that asks for it, if its writes are counted. */
      readonly from?: string | undefined;
    },
  ): Promise<T>;
}

/** An open file of the embedded ledger. */
export interface LedgerFile {
  /** The database connection. */
  readonly db: DatabaseSync;
  /** The time, for entries of the log. */
  readonly clock: Clock;
  /** Queues writes, and commits several of them together. */
  readonly writes: LedgerWrites;
  /**
   * Has SQLite's write-ahead log emptied after the next commit, so that
   * overwritten secrets do not stay in it.
   */
  eraseLog(): void;
  /** Names the file in errors of what is run on the connection itself. */
  readonly errors: FileErrors;
  /** Writes what is still queued and closes the file; may be called again. */
  close(): Promise<void>;
}

/**
 * Opens the file, makes it when it does not exist, and migrates its tables. The
 * folder must exist.
 *
 * @throws {Error} when the file cannot be opened, or has a later version
 */
export function openLedgerFile(path: string, clock: Clock): LedgerFile {
  const errors = new FileErrors(
    path,
    "put its backup in its place; without one, move it and the " +
      'files beside it away ("relayer account create" makes accounts of the ' +
      "same ids again): memories in relayer.db are still found, but none of " +
      "before can be restored",
  );
  const db = errors.run(() => openMigrated(path));
  let hasErased = false;
  const writes = new Batcher(db, {
    monotonicMs: () => steadyMs(clock),
    maxQueued: MAX_QUEUED,
    maxQueuedBytes: MAX_QUEUED_BYTES,
    errors,
    afterCommit() {
      if (!hasErased) return;
      const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      // Another process is reading the file: the next commit tries again.
      if (row?.["busy"] === 0) hasErased = false;
    },
  });
  return {
    db,
    clock,
    writes,
    errors,
    eraseLog() {
      hasErased = true;
    },
    close: async () => {
      await writes.idle();
      if (db.isOpen) db.close();
    },
  };
}

function openMigrated(path: string): DatabaseSync {
  const db = openDatabase(path, { isErasing: true });
  try {
    migrateLedger(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
