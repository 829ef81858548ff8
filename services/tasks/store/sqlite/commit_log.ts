/**
 * The log of commits (WAL): how long its file is, and when what it holds is moved
 * to the database's file.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  BUSY_TIMEOUT_MS,
  PAGE_BYTES,
} from "../../../shared/sqlite/open_database.ts";
import { fileLength, logPath } from "./database_file.ts";

/** Bytes from which on the log of commits is moved, and its file is cut. */
interface LogBounds {
  /** What the log holds that the file does not; a move keeps commits waiting. */
  readonly moveFromBytes: number;
  /** The log itself, which a long read can keep from being written over. */
  readonly truncateFromBytes: number;
}

const BOUNDS: LogBounds = {
  moveFromBytes: 8_000_000,
  truncateFromBytes: 512_000_000,
};

/** Moves the log to the database's file, on the connection that writes. */
export class CommitLog {
  readonly #db: DatabaseSync;
  readonly #bounds: LogBounds;
  /** Tells how long the log is, after each commit. */
  readonly #look: StatementSync;
  /** Pages that could not be moved the last time, as they are being read. */
  #keptPages = 0;

  /** The log of a connection. */
  constructor(db: DatabaseSync, bounds: LogBounds = BOUNDS) {
    this.#db = db;
    this.#bounds = bounds;
    this.#look = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  }

  /**
   * Moves the log when it has become long, for which nothing waits but the next
   * commit. What a reader still needs stays until the log is long once more; after
   * a failure, as on a full disk, the next call tries again.
   *
   * @throws {Error} when it could not be moved
   */
  moveIfLong(): void {
    const { moveFromBytes, truncateFromBytes } = this.#bounds;
    const { logPages, unmovedPages } = lengthsOf(this.#look);
    const grownPages = unmovedPages - this.#keptPages;
    if (grownPages * PAGE_BYTES < moveFromBytes) return;
    this.#keptPages = logPages * PAGE_BYTES < truncateFromBytes
      ? this.#checkpoint("PASSIVE").unmovedPages
      : this.#truncate().unmovedPages;
  }

  /**
   * Moves what can be moved, however little it is: on a full disk the log can only
   * be written over from its beginning.
   *
   * @throws {Error} when it could not be moved
   */
  move(): void {
    this.#keptPages = this.#checkpoint("PASSIVE").unmovedPages;
  }

  /** Moves the log and cuts its file, unless a reader is in the middle of it. */
  #truncate(): LogLengths {
    this.#db.exec("PRAGMA busy_timeout = 0");
    try {
      return this.#checkpoint("TRUNCATE");
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  #checkpoint(mode: "PASSIVE" | "TRUNCATE"): LogLengths {
    return lengthsOf(this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`));
  }
}

interface LogLengths {
  readonly logPages: number;
  readonly unmovedPages: number;
}

function lengthsOf(checkpoint: StatementSync): LogLengths {
  const row = checkpoint.get();
  const logPages = Math.max(0, Number(row?.["log"] ?? 0));
  const movedPages = Math.max(0, Number(row?.["checkpointed"] ?? 0));
  return { logPages, unmovedPages: logPages - movedPages };
}

/** Twice what the log holds before it is moved, which is its usual length. */
const LOG_BYTES = 16 * 1_048_576;
const PORTION_BYTES = 1_048_576;
/** The start would wait for the first portion, commits wait for each. */
const FIRST_PORTION_MS = 1_000;
const NEXT_PORTION_MS = 100;

/** Makes the log long a portion at a time, while there are commits. */
export class LogLengthening {
  readonly #path: string;
  #dueMs: number;

  /** Begins a second after the database was opened. */
  constructor(path: string, { openedMs }: { readonly openedMs: number }) {
    this.#path = path;
    this.#dueMs = openedMs + FIRST_PORTION_MS;
  }

  /**
   * Adds a portion if that is due; to be called after commits.
   *
   * @throws {Error} when the file can't be opened; then nothing more is added
   */
  lengthenIfDue(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    this.#dueMs = Infinity;
    if (lengthenLog(this.#path)) this.#dueMs = nowMs + NEXT_PORTION_MS;
  }
}

/**
 * Makes the log's file longer, by zeros behind what it holds: SQLite takes them for
 * what was never written, and writes over them. A commit then waits for its pages
 * alone, and not for the length of the file as well. One portion at a time, since
 * commits wait meanwhile.
 *
 * @param path The database's path.
 * @returns Whether there is more to add.
 */
export function lengthenLog(path: string, bytes = LOG_BYTES): boolean {
  const length = fileLength(logPath(path));
  if (length === undefined || length >= bytes) return false;
  const portion = Math.min(PORTION_BYTES, bytes - length);
  using file = Deno.openSync(logPath(path), { append: true });
  const zeros = new Uint8Array(portion);
  try {
    for (let at = 0; at < portion;) at += file.writeSync(zeros.subarray(at));
    file.syncDataSync();
  } catch {
    // It only makes commits quicker: on a full disk what is left is for the tasks.
    file.truncateSync(length);
    return false;
  }
  return length + portion < bytes;
}
