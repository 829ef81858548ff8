/**
 * How the tables came to be what they are: numbered steps, each applied once.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { INITIAL_TABLES } from "./migrations/v1_initial.ts";

/** One step from a version of the tables to the next. */
export interface Migration {
  /** The version it leads to; the first is 1. */
  readonly version: number;
  /** What it does, in a word or two. */
  readonly name: string;
  /** The statements. */
  readonly sql: string;
}

/** All steps in their order. What was released never changes. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "initial", sql: INITIAL_TABLES },
];

/** Options of {@linkcode migrate}. */
export interface MigrateOptions {
  /** When, in milliseconds since the epoch; kept for people. */
  readonly nowMs: number;
  /**
   * The steps.
   *
   * @default MIGRATIONS
   */
  readonly migrations?: readonly Migration[];
}

/**
 * Applies the steps that a database lacks, all of them or none.
 *
 * @throws {Error} when the database is of a later version than the steps
 */
export function migrate(db: DatabaseSync, options: MigrateOptions): void {
  const { nowMs, migrations = MIGRATIONS } = options;
  // Beginning here keeps two who migrate at once in order.
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec(
      "CREATE TABLE IF NOT EXISTS migrations(" +
        "version INTEGER PRIMARY KEY, name TEXT NOT NULL, " +
        "applied_ms INTEGER NOT NULL) STRICT",
    );
    const there = databaseVersion(db);
    const latest = migrations.at(-1)?.version ?? 0;
    if (there > latest) throw laterVersion(there, latest);
    const note = db.prepare("INSERT INTO migrations VALUES(?, ?, ?)");
    for (const { version, name, sql } of migrations) {
      if (version <= there) continue;
      db.exec(sql);
      note.run(version, name, nowMs);
    }
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

/** The version of a database that has a table of migrations. */
export function databaseVersion(db: DatabaseSync): number {
  const row = db.prepare("SELECT max(version) AS version FROM migrations")
    .get();
  return Number(row?.["version"] ?? 0);
}

function laterVersion(there: number, latest: number): Error {
  return new Error(
    `Cannot open the database: it is of version ${there}, this program knows ` +
      `up to version ${latest}; start a later program or restore a backup`,
  );
}
