/**
 * The length of the log's file. Whoever makes a file longer waits about twice as
 * long for the disk as who writes over what is there, because the file's length
 * has to be kept as well.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { rollBack } from "../../../shared/sqlite/transaction.ts";
import { CACHE_KIB, logPath, PAGE_BYTES } from "./database_file.ts";
import { fileLength } from "./file_length.ts";

/** Twice what the log holds before it is moved: so long it gets unless much is written. */
const LOG_BYTES = 16 * 1_024 * 1_024;

/** As many stay in memory; what is written beyond goes to the log at once. */
const SPILLING_PAGES = 64;

/** Options of {@linkcode lengthenLog}. */
export interface LengthenLogOptions {
  /** The database's path. */
  readonly path: string;
  /**
   * How long the file is to be at least.
   *
   * @default {16_777_216}
   */
  readonly bytes?: number;
}

/**
 * Makes the log's file long, with what is then rolled back: SQLite takes it for
 * what was never written, and writes over it. What the log holds stays. It needs
 * about a tenth of a second.
 */
export function lengthenLog(
  db: DatabaseSync,
  { path, bytes = LOG_BYTES }: LengthenLogOptions,
): void {
  if ((fileLength(logPath(path)) ?? 0) >= bytes) return;
  db.exec(`PRAGMA cache_size = ${SPILLING_PAGES}`);
  let hasRoom = true;
  try {
    db.exec("BEGIN IMMEDIATE; CREATE TABLE filling(bytes BLOB)");
    db.prepare("INSERT INTO filling VALUES(zeroblob(?))").run(
      bytes + SPILLING_PAGES * PAGE_BYTES,
    );
  } catch {
    // It only makes commits quicker; a disk that is full is told of by those.
    hasRoom = false;
  } finally {
    rollBack(db);
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  }
  if (!hasRoom) return giveBack(db);
  using file = Deno.openSync(logPath(path), { read: true, write: true });
  file.syncDataSync();
}

/** What was left of the disk is for the tasks. */
function giveBack(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Not even what the log holds can be moved: the service starts all the same,
    // so that tasks can be read and removed.
  }
}
