/**
 * Migrations of the tables of a database: numbered steps, each applied once.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./transaction.ts";

/** One step from a version of the tables to the next. */
export interface Migration {
  /** The version it leads to; the first is 1. */
  readonly version: number;
  /** What it does, in a word or two. */
  readonly name: string;
  /** The statements. */
  readonly sql: string;
}

/** Options of {@linkcode migrate}. */
export interface MigrateOptions {
  /** When, in milliseconds since the epoch; kept for people. */
  readonly nowMs: number;
  /** All steps in their order; what was released never changes. */
  readonly migrations: readonly Migration[];
  /** What the file is called in messages. */
  readonly fileName: string;
}

/**
 * Applies the steps that a database lacks, all of them or none.
 *
 * @throws {Error} when the database is of a later version than the steps
 */
export function migrate(db: DatabaseSync, options: MigrateOptions): void {
  const { nowMs, migrations, fileName } = options;
  inTransaction(db, () => {
    db.exec(
      "CREATE TABLE IF NOT EXISTS migrations(" +
        "version INTEGER PRIMARY KEY, name TEXT NOT NULL, " +
        "applied_ms INTEGER NOT NULL) STRICT",
    );
    const there = databaseVersion(db);
    const latest = migrations.at(-1)?.version ?? 0;
    if (there > latest) {
      throw new Error(
        `Cannot open "${fileName}": it is of version ${there}, this program ` +
          `knows up to version ${latest}; start a later program or restore a ` +
          "backup",
      );
    }
    const note = db.prepare("INSERT INTO migrations VALUES(?, ?, ?)");
    for (const { version, name, sql } of migrations) {
      if (version <= there) continue;
      db.exec(sql);
      note.run(version, name, nowMs);
    }
  });
}

/** The version of a database that has a table of migrations. */
export function databaseVersion(db: DatabaseSync): number {
  const row = db.prepare("SELECT max(version) AS version FROM migrations")
    .get();
  return Number(row?.["version"] ?? 0);
}
