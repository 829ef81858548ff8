/**
 * Has the runtime watch directories in a thread of its own. The runtime's
 * watcher opens each file that changes: a named pipe stops it for good, and
 * with it the thread that asks it for another watch. A file system that does
 * not answer does the same. So only this thread may hang. Watchers of files
 * look by themselves as well, and more often when no reports come.
 *
 * @module
 */

import type { Clock, Timer } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { Periodic } from "../periodic.ts";
import { describeError, waitAtMost } from "../settled.ts";
import type { Part } from "../stopper.ts";
import type {
  ChangeReports,
  ReportSubscriber,
  ReportSubscription,
} from "./change_reports.ts";

/** A request to the thread, to watch these directories alone. */
export interface WatchRequest {
  /** Number of the request. */
  readonly number: number;
  /** The directories; what is below those in them does not matter. */
  readonly directories: readonly string[];
}

/** An answer of the thread. */
export type WatchAnswer =
  | { readonly kind: "watching"; readonly number: number }
  | {
    readonly kind: "failed";
    readonly number: number;
    readonly reason: string;
    /** True when a directory no longer exists. */
    readonly isGone: boolean;
  }
  /** Something has changed. */
  | { readonly kind: "changed" };

/** How a {@linkcode WatchThread} is made. */
interface WatchThreadOptions {
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets one line when changes are not reported. */
  readonly logger: Logger;
  /**
   * Starts the thread.
   *
   * @default the thread's own program
   */
  readonly startThread?: (() => Worker) | undefined;
  /**
   * Milliseconds from the start to that of the thread. It takes some 30 ms of
   * processor time and 14 MB, so that the service should be ready before.
   *
   * @default {200}
   */
  readonly startDelayMs?: number;
}

/** Milliseconds within which the thread has to answer. */
const ANSWER_MS = 10_000;
/** Milliseconds until directories are found again, one of which had gone. */
const AGAIN_MS = 250;
/** Milliseconds that a stop waits for a look at directories. */
const STOP_MS = 500;

/**
 * Reports changes; the part to add last, so that it starts when all others run.
 */
export class WatchThread implements ChangeReports, Part {
  /** The name of the part in logs. */
  readonly name = "file watch";
  readonly #options: WatchThreadOptions;
  readonly #subscribers = new Set<ReportSubscriber>();
  readonly #asking: Periodic;
  #worker: Worker | undefined;
  #isDue = false;
  /** The directories that the thread was asked to watch last. */
  #asked = "";
  #number = 0;
  #answer: Timer | undefined;
  #isWatching = false;
  /** True when a change was missed, or the thread has ended. */
  #isDoubted = false;
  #isTold = false;

  /** Makes reports that begin some time after the start. */
  constructor(options: WatchThreadOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#asking = new Periodic({
      clock,
      run: (signal) => this.#ask(signal),
      onError: (error) =>
        logger.error("Cannot find the directories to watch", {
          error: describeError(error),
        }),
    });
  }

  /** True while changes are reported, as far as is known. */
  get isReporting(): boolean {
    return this.#isWatching && !this.#isDoubted;
  }

  /** Adds a subscriber. */
  subscribe(subscriber: ReportSubscriber): ReportSubscription {
    this.#subscribers.add(subscriber);
    const refresh = (): void => {
      if (this.#isDue) this.#asking.wake();
    };
    refresh();
    return {
      refresh,
      missed: () => {
        this.#isDoubted = true;
        this.#tell(
          "a change was not reported: the directory is on a file system that " +
            "reports none, or something in it hangs when it is opened, as a " +
            "named pipe does",
        );
      },
      end: () => this.#subscribers.delete(subscriber),
    };
  }

  /** Starts the thread a little later, unless there is nothing to watch. */
  start(): Promise<void> {
    const { startDelayMs = 200 } = this.#options;
    this.#asking.start();
    this.#asking.wakeIn(startDelayMs);
    return Promise.resolve();
  }

  /** Ends the thread, also one that hangs. */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    this.#isWatching = false;
    this.#answer?.cancel();
    this.#worker?.terminate();
    await waitAtMost(this.#asking.stop(), { clock, timeoutMs: STOP_MS });
  }

  /** Asks for all directories of the subscribers, where they are others. */
  async #ask(signal: AbortSignal): Promise<void> {
    this.#isDue = true;
    const found = new Map<string, string>();
    for (const subscriber of this.#subscribers) {
      for (const { path, identity } of await subscriber.directories()) {
        found.set(path, identity);
      }
    }
    if (signal.aborted) return;
    const asked = JSON.stringify([...found].sort());
    if (found.size === 0 || asked === this.#asked) return;
    this.#asked = asked;
    this.#isWatching = false;
    this.#worker ??= this.#startThread();
    this.#worker.postMessage(
      {
        number: ++this.#number,
        directories: [...found.keys()],
      } satisfies WatchRequest,
    );
    this.#answer?.cancel();
    this.#answer = this.#options.clock.setTimer(
      () => this.#tell(`the runtime has not answered within ${ANSWER_MS} ms`),
      ANSWER_MS,
    );
  }

  #startThread(): Worker {
    const { startThread = startWatchThread } = this.#options;
    const worker = startThread();
    worker.onmessage = ({ data }: MessageEvent<WatchAnswer>) =>
      this.#take(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#answer?.cancel();
      this.#isDoubted = true;
      this.#tell(event.message);
    };
    return worker;
  }

  #take(answer: WatchAnswer): void {
    if (answer.kind === "changed") return this.#report();
    if (answer.number !== this.#number) return;
    this.#answer?.cancel();
    this.#isWatching = answer.kind === "watching";
    // What changed before was not reported.
    if (answer.kind === "watching") return this.#report();
    if (answer.isGone) {
      this.#asked = "";
      this.#asking.wakeIn(AGAIN_MS);
    } else {
      this.#tell(answer.reason);
    }
  }

  #report(): void {
    for (const subscriber of this.#subscribers) subscriber.onReport();
  }

  #tell(reason: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#options.logger.warn(
      "Changes of files may not be reported: checking every second",
      { reason },
    );
  }
}

function startWatchThread(): Worker {
  return new Worker(new URL("./watch_thread_program.ts", import.meta.url), {
    type: "module",
  });
}
