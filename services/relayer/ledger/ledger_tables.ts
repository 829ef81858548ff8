/**
 * The tables of the ledger's file, and how they came to be.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "../../shared/sqlite/transaction.ts";

/**
 * Statements that lead from each version to the next; the first makes version 1.
 * What was released never changes.
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
];

/**
 * Brings the tables up to date, all steps or none.
 *
 * @throws {Error} when the file is of a later version than this program knows
 */
export function migrateLedger(db: DatabaseSync): void {
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
    // On a full disk a file that is up to date must open: nothing is written.
    if (version === STEPS.length) return;
    for (const step of STEPS.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${STEPS.length}`);
  });
}
