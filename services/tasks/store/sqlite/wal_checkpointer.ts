/**
 * Checkpoints of the log of commits (WAL) by a thread of its own, so that writing
 * the database's file keeps no commit waiting; and the length of the log's file.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Periodic } from "../../../shared/periodic.ts";
import { describeError } from "../../../shared/settled.ts";
import { CACHE_KIB, PAGE_BYTES } from "../../../shared/sqlite/open_database.ts";
import { rollBack } from "../../../shared/sqlite/transaction.ts";
import { fileLength, logPath } from "./database_file.ts";
import type {
  StartThread,
  ThreadScope,
  WalAnswer,
  WalRequest,
} from "./thread_messages.ts";

/** Options of {@linkcode WalCheckpointer}. */
export interface WalCheckpointerOptions {
  /** The database's path. */
  readonly path: string;
  /** Sets the timers between two checks. */
  readonly clock: Clock;
  /** Logs failures of the thread. */
  readonly logger: Logger;
  /** Has the writing thread restart the log. */
  readonly restartLog: (
    options: { readonly truncate: boolean },
  ) => Promise<void>;
  /** Bytes to be moved at least. */
  readonly moveFromBytes: number;
  /**
   * Bytes of the log from which on it is restarted, which makes commits wait for the
   * rest to be moved.
   */
  readonly restartFromBytes: number;
  /** Bytes of the log from which on its file is truncated when it is restarted. */
  readonly truncateFromBytes: number;
  /** Starts the thread. */
  readonly startThread: StartThread;
}

/** Milliseconds between two checks. */
const INTERVAL_MS = 1_000;

/** Checkpoints the log now and then. */
export class WalCheckpointer {
  readonly #options: WalCheckpointerOptions;
  #worker: Worker | undefined;
  readonly #checks: Periodic;
  #answer: ((answer: WalAnswer) => void) | undefined;

  /** A checkpointer that does nothing yet. */
  constructor(options: WalCheckpointerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#checks = new Periodic({
      clock,
      intervalMs: INTERVAL_MS,
      run: () => this.runOnce(),
      onError: (error) =>
        logger.error("the log of commits could not be checked", {
          reason: describeError(error),
        }),
    });
  }

  /**
   * Starts; resolves after the first check. The thread loads its program and opens
   * the file for it: later there may be no file descriptor left.
   */
  async start(): Promise<void> {
    this.#checks.start();
    await this.#checks.runOnce();
  }

  /** Ends the check under way and the thread. */
  async stop(): Promise<void> {
    await this.#checks.stop();
    if (this.#worker !== undefined) await this.#ask({ kind: "close" });
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Checks the log once; never rejects. */
  async runOnce(): Promise<void> {
    const { path, logger, moveFromBytes, restartFromBytes, truncateFromBytes } =
      this.#options;
    const answer = await this.#ask({
      kind: "checkpoint",
      path,
      fromPages: Math.ceil(moveFromBytes / PAGE_BYTES),
    });
    if (answer.kind === "failed") {
      logger.warn("the log of commits could not be moved", {
        reason: answer.message,
      });
    }
    if (answer.kind !== "checked") return;
    const { logPages, movedPages } = answer;
    // Under load there is always something new in it, so it is not restarted by
    // itself. When nothing could be moved, waiting for it would be in vain.
    if (logPages * PAGE_BYTES <= restartFromBytes || movedPages === 0) return;
    try {
      await this.#options.restartLog({
        truncate: logPages * PAGE_BYTES > truncateFromBytes,
      });
    } catch (error) {
      logger.warn("the log of commits could not be restarted", {
        reason: describeError(error),
      });
    }
  }

  #ask(request: WalRequest): Promise<WalAnswer> {
    const worker = this.#worker ?? this.#startThread();
    return new Promise((resolve) => {
      this.#answer = resolve;
      worker.postMessage(request);
    });
  }

  #startThread(): Worker {
    const worker = this.#options.startThread("checkpointer");
    worker.onmessage = ({ data }: MessageEvent<WalAnswer>) => {
      this.#answer?.(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      if (this.#worker === worker) this.#worker = undefined;
      this.#answer?.({ kind: "failed", message: event.message });
    };
    this.#worker = worker;
    return worker;
  }
}

const CHECKPOINT_TIMEOUT_MS = 1_000;

/** Serves as the thread, until it is ended. */
export function serveCheckpointer(
  scope: ThreadScope<WalRequest, WalAnswer>,
): void {
  let db: DatabaseSync | undefined;
  scope.onmessage = ({ data: request }) => {
    try {
      if (request.kind === "close") {
        db?.close();
        db = undefined;
        return scope.postMessage({ kind: "closed" });
      }
      if (db === undefined) {
        db = new DatabaseSync(request.path, { timeout: CHECKPOINT_TIMEOUT_MS });
        db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL");
      }
      scope.postMessage(checkpoint(db, request.fromPages));
    } catch (error) {
      scope.postMessage({ kind: "failed", message: describeError(error) });
    }
  };
}

/** Moves what is in the log when it is long enough. */
function checkpoint(db: DatabaseSync, fromPages: number): WalAnswer {
  const before = look(db, "NOOP");
  return before.logPages - before.movedPages < fromPages
    ? before
    : look(db, "PASSIVE");
}

function look(
  db: DatabaseSync,
  mode: string,
): Extract<WalAnswer, { kind: "checked" }> {
  const row = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return {
    kind: "checked",
    logPages: Math.max(0, Number(row?.["log"] ?? 0)),
    movedPages: Math.max(0, Number(row?.["checkpointed"] ?? 0)),
  };
}

/** Twice what the log holds before it is moved, which is its usual length. */
const LOG_BYTES = 16 * 1_024 * 1_024;

/** Pages kept in memory; all others are written to the log at once. */
const SPILLING_PAGES = 64;

/** Options of {@linkcode lengthenLog}. */
interface LengthenLogOptions {
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
    // It only makes commits quicker, and they report a full disk.
    hasRoom = false;
  } finally {
    rollBack(db);
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  }
  if (!hasRoom) return truncateLog(db);
  using file = Deno.openSync(logPath(path), { read: true, write: true });
  file.syncDataSync();
}

/** Leaves the rest of the disk to the tasks. */
function truncateLog(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Not even what the log holds can be moved: the service starts all the same,
    // so that tasks can be read and removed.
  }
}
