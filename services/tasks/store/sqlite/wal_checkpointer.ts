/**
 * The log of commits (WAL): its file is made long in advance, and a thread of its own
 * moves what is in it to the database's file, so that no commit waits for that.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { Clock, Timer } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { describeError } from "../../../shared/settled.ts";
import { rollBack } from "../../../shared/sqlite/transaction.ts";
import { CACHE_KIB, fileLength, logPath, PAGE_BYTES } from "./database_file.ts";
import { startOwnThread, type StartThread } from "./thread.ts";
import type { ThreadScope } from "./writer_thread.ts";

/** Options of {@linkcode LogKeeper}. */
export interface LogKeeperOptions {
  /** The database's path. */
  readonly path: string;
  /** Sets the timers between two looks. */
  readonly clock: Clock;
  /** Hears when the thread fails. */
  readonly logger: Logger;
  /** Has the log begun anew by the thread that writes. */
  readonly restartLog: (
    options: { readonly truncate: boolean },
  ) => Promise<void>;
  /** Bytes to be moved at least. */
  readonly moveFromBytes: number;
  /**
   * Bytes of the log from which on it is begun anew, which makes commits wait
   * for the rest to be moved.
   */
  readonly restartFromBytes: number;
  /** Bytes of the log from which on its file is cut when it begins anew. */
  readonly truncateFromBytes: number;
  /**
   * Starts the thread.
   *
   * @default {startOwnThread}
   */
  readonly startThread?: StartThread;
}

/** Milliseconds between two looks. */
const INTERVAL_MS = 1_000;

/** Looks after the log. */
export class LogKeeper {
  readonly #options: LogKeeperOptions;
  #worker: Worker | undefined;
  #timer: Timer | undefined;
  #answer: ((answer: LogKeeperAnswer) => void) | undefined;
  #look: Promise<void> = Promise.resolve();
  #isRunning = false;

  /** A keeper that does nothing yet. */
  constructor(options: LogKeeperOptions) {
    this.#options = options;
  }

  /**
   * Begins to look; resolves after the first one. The thread loads its program
   * and opens the file for it: later there may be no file left to be opened.
   */
  async start(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#look = this.runOnce();
    await this.#look;
    this.#schedule();
  }

  /** Ends the look under way and the thread. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    await this.#look;
    if (this.#worker !== undefined) await this.#ask({ kind: "close" });
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Looks once; never rejects. */
  async runOnce(): Promise<void> {
    const { path, logger, moveFromBytes, restartFromBytes, truncateFromBytes } =
      this.#options;
    const answer = await this.#ask({
      kind: "keep",
      path,
      fromPages: Math.ceil(moveFromBytes / PAGE_BYTES),
    });
    if (answer.kind === "failed") {
      logger.warn("the log of commits could not be moved", {
        reason: answer.message,
      });
    }
    if (answer.kind !== "looked") return;
    const { logPages, movedPages } = answer;
    // Under load there is always something new in it, so it does not begin anew
    // by itself. When nothing could be moved, waiting for it would be in vain.
    if (logPages * PAGE_BYTES <= restartFromBytes || movedPages === 0) return;
    try {
      await this.#options.restartLog({
        truncate: logPages * PAGE_BYTES > truncateFromBytes,
      });
    } catch (error) {
      logger.warn("the log of commits could not be begun anew", {
        reason: describeError(error),
      });
    }
  }

  #schedule(): void {
    this.#timer = this.#options.clock.setTimer(() => {
      this.#look = this.runOnce().finally(() => {
        if (this.#isRunning) this.#schedule();
      });
    }, INTERVAL_MS);
  }

  #ask(request: LogKeeperRequest): Promise<LogKeeperAnswer> {
    const worker = this.#worker ?? this.#startThread();
    return new Promise((resolve) => {
      this.#answer = resolve;
      worker.postMessage(request);
    });
  }

  #startThread(): Worker {
    const { startThread = startOwnThread } = this.#options;
    const worker = startThread("log_keeper");
    worker.onmessage = ({ data }: MessageEvent<LogKeeperAnswer>) => {
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

/** What the thread is asked for. */
export type LogKeeperRequest =
  /** Look at the log and move it when it has that many pages to be moved. */
  | { readonly kind: "keep"; readonly path: string; readonly fromPages: number }
  /** Close the database. */
  | { readonly kind: "close" };

/** What the thread answers. */
export type LogKeeperAnswer =
  /** How long the log is, and how much of it has been moved. */
  | {
    readonly kind: "looked";
    readonly logPages: number;
    readonly movedPages: number;
  }
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly message: string };

const BUSY_TIMEOUT_MS = 1_000;

/** Serves the one that started the thread, until it is ended. */
export function serveLogKeeper(
  scope: ThreadScope<LogKeeperRequest, LogKeeperAnswer>,
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
        db = new DatabaseSync(request.path, { timeout: BUSY_TIMEOUT_MS });
        db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL");
      }
      scope.postMessage(keep(db, request.fromPages));
    } catch (error) {
      scope.postMessage({ kind: "failed", message: describeError(error) });
    }
  };
}

/** Moves what is in the log when it is long enough. */
function keep(db: DatabaseSync, fromPages: number): LogKeeperAnswer {
  const before = look(db, "NOOP");
  return before.logPages - before.movedPages < fromPages
    ? before
    : look(db, "PASSIVE");
}

function look(
  db: DatabaseSync,
  mode: string,
): Extract<LogKeeperAnswer, { kind: "looked" }> {
  const row = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return {
    kind: "looked",
    logPages: Math.max(0, Number(row?.["log"] ?? 0)),
    movedPages: Math.max(0, Number(row?.["checkpointed"] ?? 0)),
  };
}

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
