/**
 * Whether a database is whole.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import { databaseVersion } from "../../../shared/sqlite/migrations.ts";
import { MIGRATIONS } from "./migrations.ts";
import { openStored } from "./open_stored.ts";

/** Most faults that are told. */
export const MAX_FAULTS = 20;

/**
 * Looks at every page of the database in a data folder and returns what is wrong
 * with it, in SQLite's words; nothing when it is whole. It takes as long as
 * reading the file and keeps the thread, so a server does not call it; it may
 * run beside one.
 *
 * @throws {Error} when there is no database, or it cannot be opened
 */
export function integrityCheck(dataFolder: string): readonly string[] {
  const db = openStored(dataFolder);
  try {
    return faultsOf(db);
  } finally {
    db.close();
  }
}

/** What is wrong with a database. */
export function faultsOf(db: DatabaseSync): readonly string[] {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${MAX_FAULTS})`).all();
    const faults = rows.map((row) => String(row["integrity_check"]));
    return faults.length === 1 && faults[0] === "ok" ? [] : faults;
  } catch (error) {
    return [describeError(error)];
  }
}

/** Why this program cannot use a database; undefined when it can. */
export function versionFaultOf(db: DatabaseSync): string | undefined {
  const latest = MIGRATIONS.at(-1)?.version ?? 0;
  try {
    const version = databaseVersion(db);
    return version >= 1 && version <= latest
      ? undefined
      : `it is of version ${version}, this program knows up to ${latest}`;
  } catch {
    return "it is no database of the tasks service";
  }
}
