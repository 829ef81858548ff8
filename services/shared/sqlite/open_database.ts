/**
 * Opens database files, all in one way: with a log of commits (WAL), and for
 * their owner alone.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { makePrivateDatabase } from "../data_file.ts";

/**
 * The bytes of a page; the page's size decides much of what a commit writes.
 */
export const PAGE_BYTES = 4_096;
/** How long a connection waits for another one's lock. */
export const BUSY_TIMEOUT_MS = 5_000;
/** Memory that a connection keeps pages in, in KiB. */
export const CACHE_KIB = 65_536;

/** Options of {@linkcode openDatabase}. */
interface OpenDatabaseOptions {
  /**
   * Pages in the WAL at which a commit checkpoints it into the database file. A
   * lower number makes that commit faster, a higher one makes it rarer. With 0
   * no commit does it.
   */
  readonly checkpointPages: number;
  /**
   * Whether a commit waits for the disk, or only for the operating system.
   *
   * @default {true}
   */
  readonly isDurable?: boolean | undefined;
  /**
   * Whether a new file is one whose free pages `PRAGMA incremental_vacuum` gives
   * back. A file that is there stays as it is.
   *
   * @default {false}
   */
  readonly isShrinkable?: boolean | undefined;
}

/**
 * Opens a database file for reading and writing; makes it, for its owner alone,
 * when there is none.
 *
 * @throws {Error} when the file is no database
 */
export function openDatabase(
  path: string,
  { checkpointPages, isDurable = true, isShrinkable = false }:
    OpenDatabaseOptions,
): DatabaseSync {
  makePrivateDatabase(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    // This has to come before anything that writes the first page, and would
    // write to a file that is there.
    if (isShrinkable && isEmpty(db)) {
      db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    }
    db.exec("PRAGMA journal_mode = WAL");
    // In this mode only FULL waits for the disk with each commit.
    db.exec(`PRAGMA synchronous = ${isDurable ? "FULL" : "NORMAL"}`);
    db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec("PRAGMA temp_store = MEMORY");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare("PRAGMA page_count").get()?.["page_count"] === 0;
}
