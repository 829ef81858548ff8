/**
 * The file that the accounts and the catalogue of blobs are in. It is another
 * one than the index has, so that the index can be lost and made again.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/clock.ts";
import { openDatabase } from "../store/sqlite/database_file.ts";
import { FileErrors } from "../store/sqlite/file_errors.ts";
import { GroupedWrites } from "./grouped_writes.ts";
import { migrateLedger } from "./ledger_tables.ts";

/** Options of {@linkcode openLedgerFile}. */
export interface OpenLedgerFileOptions {
  /** Measures the time. */
  readonly clock: Clock;
}

/** The open file. */
export interface LedgerFile {
  /** The connection. */
  readonly db: DatabaseSync;
  /** Says when something was written. */
  readonly clock: Clock;
  /** Writes that can wait for one another. */
  readonly writes: GroupedWrites;
  /** Names the file in errors of what is run on the connection itself. */
  readonly errors: FileErrors;
  /** Writes what waits and closes the file; harmless when it is closed. */
  close(): Promise<void>;
}

/**
 * Opens the file, makes it when there is none and brings its tables up to date.
 * The folder must be there.
 *
 * @throws {Error} when it cannot be opened or is of a later version
 */
export function openLedgerFile(
  path: string,
  options: OpenLedgerFileOptions,
): LedgerFile {
  const { clock } = options;
  const errors = new FileErrors({
    path,
    whenDamaged: "put its backup in its place; without one, move it and the " +
      'files beside it away ("relayer account create" makes accounts of the ' +
      "same ids again): memories in relayer.db are still found, but none of " +
      "before can be restored",
  });
  const db = errors.run(() => openMigrated(path));
  const writes = new GroupedWrites({ db, clock, errors });
  return {
    db,
    clock,
    writes,
    errors,
    close: async () => {
      await writes.idle();
      if (db.isOpen) db.close();
    },
  };
}

function openMigrated(path: string): DatabaseSync {
  const db = openDatabase(path);
  try {
    migrateLedger(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
