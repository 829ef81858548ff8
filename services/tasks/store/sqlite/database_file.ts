/**
 * The database's file and how connections to it are opened.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { makePrivateDatabase } from "../../../shared/sqlite/private_file.ts";
import { fileLength } from "./file_length.ts";

/** The bytes of a page; the page's size decides much of what a commit writes. */
export const PAGE_BYTES = 4_096;

/** How long a connection waits for another one's lock. */
export const BUSY_TIMEOUT_MS = 5_000;
/** Memory that a connection keeps pages in, in KiB. */
export const CACHE_KIB = 65_536;

/** What a commit waits for: the disk, or only the operating system. */
export type Durability = "full" | "relaxed";

/** What keeps others out of a data folder. */
export const LOCK_FILE = "tasks.lock";

/** The path of the database in a data folder. */
export function databasePath(dataFolder: string): string {
  return `${dataFolder}/tasks.db`;
}

/** The path of a database's log of commits. */
export function logPath(path: string): string {
  return `${path}-wal`;
}

/** Where a backup is checked before it takes the place of the database. */
export function restoringPath(path: string): string {
  return `${path}.restoring`;
}

/**
 * Opens the connection that writes; makes the file, for its owner alone, when
 * there is none.
 *
 * @throws {Error} when it cannot be opened, or a restore did not come to its end
 */
export function openWriting(
  path: string,
  durability: Durability,
): DatabaseSync {
  if (
    fileLength(path) === undefined &&
    fileLength(restoringPath(path)) !== undefined
  ) {
    throw new Error(
      `Cannot open "${path}": a restore was cut short; run it again`,
    );
  }
  makePrivateDatabase(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    db.exec("PRAGMA journal_mode = WAL");
    // In this mode only FULL waits for the disk with each commit.
    const synchronous = durability === "full" ? "FULL" : "NORMAL";
    db.exec(`PRAGMA synchronous = ${synchronous}`);
    // Another thread moves what is in the log to the file.
    db.exec("PRAGMA wal_autocheckpoint = 0");
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec("PRAGMA temp_store = MEMORY");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a connection that only reads. */
export function openReading(path: string | URL): DatabaseSync {
  const db = new DatabaseSync(path, {
    timeout: BUSY_TIMEOUT_MS,
    readOnly: true,
  });
  try {
    // It is the first to look at the file; exec() would not tell the code of
    // what goes wrong.
    db.prepare(`PRAGMA cache_size = -${CACHE_KIB}`).run();
    db.exec("PRAGMA temp_store = MEMORY");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
