/**
 * Notices that files or directories change, also where links are swapped and
 * directories are removed and made again.
 *
 * File systems tell of changes in bursts and not always, so this only says
 * "look again": the one who is told reads and compares.
 *
 * @module
 */

import type { Clock, Timer } from "./clock.ts";
import { type DirectoryEvents, DirectoryWatches } from "./directory_watches.ts";
import type { Logger } from "./logger.ts";
import { quote } from "./quote.ts";
import { SettleTimer } from "./settle_timer.ts";
import { planWatch } from "./watch_plan.ts";

/** Watches paths from its start to its stop. */
export interface PathWatcher {
  /**
   * Begins to watch. A change after this has resolved is noticed; what is
   * there already is for the caller to read. A second start does nothing.
   */
  start(): Promise<void>;
  /**
   * Ends the watch and waits for a running `onChange`, so it must not be
   * awaited in there. Double stop and stop before start do no harm.
   */
  stop(): Promise<void>;
}

/** What is watched, and who is told. */
export interface PathWatcherOptions {
  /**
   * Files and directories to watch; of a directory its own entries, not what
   * is below them. Asked again after each change. None of them need exist.
   */
  readonly paths: () => readonly string[];
  /**
   * Called after a change and at each poll, never twice at once. Changes that
   * come meanwhile lead to one further call.
   */
  readonly onChange: () => void | Promise<void>;
  /** The time source. */
  readonly clock: Clock;
  /** Takes faults of `onChange` and of watching. */
  readonly logger: Logger;
  /**
   * How long it must be quiet after an event before `onChange` is called.
   * @default 150
   */
  readonly settleMs?: number;
  /**
   * How long events that do not end may put the call off.
   * @default 2000
   */
  readonly maxSettleMs?: number;
  /**
   * How often to look without an event, for network file systems and for what
   * no event tells.
   * @default 30000
   */
  readonly pollMs?: number;
  /**
   * How often to look while a directory cannot be watched, for instance since
   * the system's limit of watches is reached.
   * @default 5000
   */
  readonly fallbackPollMs?: number;
  /**
   * Opens a watch of one directory.
   * @default Deno.watchFs
   */
  readonly open?: (directory: string) => DirectoryEvents;
}

/**
 * How often plan and watches are brought in line before the next event or poll
 * has to go on with it.
 */
const MAX_ROUNDS = 5;

/** Makes a watcher of `paths`. */
export function createPathWatcher(options: PathWatcherOptions): PathWatcher {
  return new Watcher(options);
}

class Watcher implements PathWatcher {
  readonly #options: PathWatcherOptions;
  readonly #settle: SettleTimer;
  readonly #watches: DirectoryWatches;
  #state: "idle" | "started" | "stopped" = "idle";
  #poll: Timer | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #retryBroken = false;
  #deaf = false;

  constructor(options: PathWatcherOptions) {
    this.#options = options;
    this.#settle = new SettleTimer({
      clock: options.clock,
      settleMs: options.settleMs ?? 150,
      maxWaitMs: options.maxSettleMs ?? 2000,
      onSettled: () => this.#run(),
    });
    this.#watches = new DirectoryWatches({
      onEvent: () => {
        if (this.#state === "started") this.#settle.touch();
      },
      ...(options.open === undefined ? {} : { open: options.open }),
    });
  }

  async start(): Promise<void> {
    if (this.#state !== "idle") return;
    this.#state = "started";
    const refreshed = this.#refresh();
    this.#running = refreshed.then(() => {}, () => {});
    await refreshed;
    this.#running = undefined;
    this.#armPoll();
    if (this.#again) this.#run();
  }

  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#settle.cancel();
    this.#poll?.cancel();
    await this.#watches.close();
    await this.#running;
  }

  #armPoll(): void {
    if (this.#state !== "started") return;
    const { clock, pollMs = 30_000, fallbackPollMs = 5000 } = this.#options;
    this.#poll?.cancel();
    this.#poll = clock.setTimer(() => {
      this.#armPoll();
      this.#retryBroken = true;
      this.#run();
    }, this.#deaf ? Math.min(pollMs, fallbackPollMs) : pollMs);
  }

  #run(): void {
    if (this.#state !== "started") return;
    this.#again = true;
    if (this.#running !== undefined) return;
    this.#running = this.#work().finally(() => {
      this.#running = undefined;
    });
  }

  async #work(): Promise<void> {
    while (this.#again && this.#state === "started") {
      this.#again = false;
      try {
        // First the watches, then the look: what comes in between is told.
        await this.#refresh();
        if (this.#state !== "started") return;
        await this.#options.onChange();
        // The look may have led to other paths, and those were not watched.
        const opened = await this.#refresh();
        if (opened > 0 && this.#state === "started") this.#settle.touch();
      } catch (error) {
        this.#options.logger.error("Cannot take up a change of files", {
          error: String(error),
        });
      }
    }
  }

  /** Brings the watches in line; returns how many were opened. */
  async #refresh(): Promise<number> {
    let total = 0;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const plan = await planWatch(this.#options.paths());
      if (this.#state !== "started") return total;
      const retryBroken = this.#retryBroken;
      this.#retryBroken = false;
      const { opened, failure } = await this.#watches.apply(plan, {
        retryBroken,
      });
      this.#tell(failure);
      total += opened;
      // A plan may be out of date before its watches are open.
      if (opened === 0) return total;
    }
    return total;
  }

  #tell(
    failure: { directory: string; error: unknown } | undefined,
  ): void {
    const deaf = failure !== undefined;
    if (deaf === this.#deaf) return;
    this.#deaf = deaf;
    this.#armPoll();
    const { logger, fallbackPollMs = 5000 } = this.#options;
    if (failure === undefined) {
      logger.info("Watching files again");
    } else {
      logger.warn(
        `Cannot watch directory ${quote(failure.directory)}: looking at it ` +
          "at intervals; raise fs.inotify limits or grant read access",
        { error: String(failure.error), everyMs: fallbackPollMs },
      );
    }
  }
}
