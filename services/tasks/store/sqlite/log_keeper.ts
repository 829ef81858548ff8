/**
 * Keeps the log of commits short: looks at it now and then and has it moved to
 * the database's file by a thread of its own.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { describeError } from "../../../shared/settled.ts";
import { PAGE_BYTES } from "./database_file.ts";
import type {
  LogKeeperAnswer,
  LogKeeperRequest,
} from "./log_keeper_messages.ts";
import { startOwnThread, type StartThread } from "./thread.ts";

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
