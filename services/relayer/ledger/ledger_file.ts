/**
 * The file that the accounts and the catalogue of blobs are in. It is another
 * one than the index has, so that the index can be lost and made again.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/clock.ts";
import { openDatabase } from "../store/sqlite/database_file.ts";
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
  const db = openDatabase(path);
  try {
    migrateLedger(db);
  } catch (error) {
    db.close();
    throw error;
  }
  const writes = new GroupedWrites({ db, clock });
  return {
    db,
    clock,
    writes,
    close: async () => {
      await writes.idle();
      if (db.isOpen) db.close();
    },
  };
}
