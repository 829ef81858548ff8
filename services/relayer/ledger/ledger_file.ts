/**
 * The file that the accounts and the catalogue of blobs are in. It is another
 * one than the index has, so that the index can be lost and made again.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/clock.ts";
import { GroupedWrites } from "./grouped_writes.ts";
import { migrateLedger } from "./ledger_tables.ts";

/** How long a statement waits for another process, as the command line. */
const BUSY_TIMEOUT_MS = 5_000;

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
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec("PRAGMA journal_mode = WAL");
    // In this mode only FULL waits for the disk with each commit.
    db.exec("PRAGMA synchronous = FULL");
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
