/**
 * The write-ahead log (WAL) of the database: when its content is moved
 * ("checkpointed") to the database's file, and how its file is lengthened ahead
 * of time.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  BUSY_TIMEOUT_MS,
  PAGE_BYTES,
} from "../../../shared/sqlite/open_database.ts";
import { fileLength, logPath } from "./database_file.ts";

/**
 * The sizes from which the log is moved, and from which its file is truncated.
 */
interface LogBounds {
  /**
   * Bytes in the log that are not in the database's file yet; moving them
   * delays commits.
   */
  readonly moveFromBytes: number;
  /**
   * Bytes of the log's file; a long read can keep the log from being
   * overwritten.
   */
  readonly truncateFromBytes: number;
}

const BOUNDS: LogBounds = {
  moveFromBytes: 8_000_000,
  truncateFromBytes: 512_000_000,
};

/**
 * How often the log's length is looked at, in milliseconds: with a look after
 * each commit, small commits would spend a tenth of their time on looks.
 */
const LOOK_MS = 10;

/** Moves the log to the database's file, on the connection that writes. */
export class CommitLog {
  readonly #db: DatabaseSync;
  readonly #bounds: LogBounds;
  /** The statement that returns the log's length. */
  readonly #look: StatementSync;
  #lookFromMs = -Infinity;
  /**
   * Pages that could not be moved last time, because a reader still needs them.
   */
  #keptPages = 0;

  /** Takes the connection whose log it moves. */
  constructor(db: DatabaseSync, bounds: LogBounds = BOUNDS) {
    this.#db = db;
    this.#bounds = bounds;
    this.#look = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  }

  /**
   * Moves the log when it has become long; only the next commit waits for that.
   * Pages that a reader still needs stay until the log is long again. After a
   * failure, as on a full disk, the next call tries again.
   *
   * @param nowMs Milliseconds of a clock that only goes forward; calls within
   * ten milliseconds after a look do nothing.
   * @throws {Error} when the log could not be moved
   */
  moveIfLong(nowMs: number): void {
    if (nowMs < this.#lookFromMs) return;
    const { moveFromBytes, truncateFromBytes } = this.#bounds;
    const { logPages, unmovedPages } = readLengths(this.#look);
    const grownPages = unmovedPages - this.#keptPages;
    if (grownPages * PAGE_BYTES < moveFromBytes) {
      this.#lookFromMs = nowMs + LOOK_MS;
      return;
    }
    this.#keptPages = logPages * PAGE_BYTES < truncateFromBytes
      ? this.#checkpoint("PASSIVE").unmovedPages
      : this.#truncate().unmovedPages;
  }

  /**
   * Moves as much of the log as possible, however short it is: on a full disk,
   * the log can only be overwritten from its beginning.
   *
   * @throws {Error} when the log could not be moved
   */
  move(): void {
    this.#keptPages = this.#checkpoint("PASSIVE").unmovedPages;
  }

  /** Moves the log and truncates its file, unless a reader still needs it. */
  #truncate(): LogLengths {
    this.#db.exec("PRAGMA busy_timeout = 0");
    try {
      return this.#checkpoint("TRUNCATE");
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  #checkpoint(mode: "PASSIVE" | "TRUNCATE"): LogLengths {
    return readLengths(this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`));
  }
}

interface LogLengths {
  readonly logPages: number;
  readonly unmovedPages: number;
}

function readLengths(checkpoint: StatementSync): LogLengths {
  const row = checkpoint.get();
  const logPages = Math.max(0, Number(row?.["log"] ?? 0));
  const movedPages = Math.max(0, Number(row?.["checkpointed"] ?? 0));
  return { logPages, unmovedPages: logPages - movedPages };
}

/**
 * The length to which the file is lengthened: twice what the log holds before
 * it is moved, which is its usual length.
 */
const LOG_BYTES = 16 * 1_048_576;
const PORTION_BYTES = 1_048_576;
/**
 * The first portion is delayed because the start would wait for it, and each
 * further one because commits do.
 */
const FIRST_PORTION_MS = 1_000;
const NEXT_PORTION_MS = 100;

/** Lengthens the log's file portion by portion, while there are commits. */
export class LogLengthening {
  readonly #path: string;
  #dueMs: number;

  /** Adds the first portion a second after the database was opened. */
  constructor(path: string, { openedMs }: { readonly openedMs: number }) {
    this.#path = path;
    this.#dueMs = openedMs + FIRST_PORTION_MS;
  }

  /**
   * Adds a portion if one is due; has to be called after commits.
   *
   * @throws {Error} when the file cannot be opened; then no more portions are
   * added
   */
  lengthenIfDue(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    this.#dueMs = Infinity;
    if (lengthenLog(this.#path)) this.#dueMs = nowMs + NEXT_PORTION_MS;
  }
}

/**
 * Lengthens the log's file by a portion of zeros at its end. SQLite treats them
 * as never written, and overwrites them. A commit then only waits for its pages
 * to be written, and not for a new file length as well. It is one portion at a
 * time, since commits wait meanwhile.
 *
 * @param path the path of the database
 *
 * @returns whether more portions are needed
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
    // Lengthening only makes commits faster; on a full disk the tasks need the
    // space.
    file.truncateSync(length);
    return false;
  }
  return length + portion < bytes;
}
