/**
 * Gives pages of the database's file that nothing uses back to the file
 * system, in minutes in which little is written.
 *
 * A file of an earlier version has no map of its pages, without which only a
 * rewrite gives them back: `tasks compact`.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { pause, Periodic } from "../../../shared/periodic.ts";
import { PAGE_BYTES } from "../../../shared/sqlite/open_database.ts";
import type { Writer } from "./writer.ts";

/** Milliseconds between two looks, over which the load is measured. */
const LOOK_MS = 60_000;
/** The largest share of that time that writes take in a quiet minute. */
const QUIET_SHARE = 0.2;
/**
 * The free pages that stay, as a share of those in use, since the next tasks
 * need them.
 */
const KEPT_SHARE = 0.1;
/** As many stay at least. */
const MIN_KEPT_PAGES = 1_000;
/**
 * How long a step takes, in milliseconds; a commit waits for one step at the
 * most.
 */
const STEP_MS = 4;
/** The pause after a step, as a multiple of it. */
const REST = 9;
/** The pause while writes wait, in milliseconds. */
const BUSY_PAUSE_MS = 50;
/** The share of free pages from which a file of an earlier version is told of. */
const TOLD_SHARE = 0.25;

/** The pages of the database's file. */
interface Pages {
  /** All pages. */
  readonly total: number;
  /** Those that nothing uses. */
  readonly free: number;
  /** Whether single pages can be given back. */
  readonly isShrinkable: boolean;
}

/** Options of {@linkcode FileShrinker}. */
interface FileShrinkerOptions {
  /** Writes to the database. */
  readonly writer: Pick<Writer, "ask" | "busyMs" | "isIdle">;
  /** The clock. */
  readonly clock: Clock;
  /** Logs what could not be done, and a file that has to be compacted. */
  readonly logger: Logger;
}

/** Gives free pages back while little is written. */
export class FileShrinker {
  readonly #options: FileShrinkerOptions;
  readonly #periodic: Periodic;
  #busyMs = 0;
  #hasTold = false;

  /** Creates the shrinker without starting it. */
  constructor(options: FileShrinkerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#periodic = new Periodic({
      clock,
      intervalMs: LOOK_MS,
      run: (signal) => this.#look(signal),
      onError: (error) => {
        logger.warn("Cannot return free pages of the database", {
          reason: String(error),
        });
      },
    });
  }

  /** Starts; the first look follows in a minute. */
  start(): void {
    this.#periodic.start();
  }

  /** Stops after the current step. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { busyMs } = this.#options.writer;
    const isQuiet = busyMs - this.#busyMs < LOOK_MS * QUIET_SHARE;
    this.#busyMs = busyMs;
    if (!isQuiet) return;
    let pages = await this.#pages();
    if (!pages.isShrinkable) return this.#tell(pages);
    const { clock, writer } = this.#options;
    let restedMs = 0;
    while (excess(pages) > 0 && restedMs < LOOK_MS && !signal.aborted) {
      let restMs = BUSY_PAUSE_MS;
      if (writer.isIdle) {
        const [tookMs = 0, total = 0, free = 0] = await writer.ask({
          ...{ kind: "give_back", pages: excess(pages), withinMs: STEP_MS },
        });
        pages = { ...pages, total, free };
        restMs = Math.max(1, Math.ceil(tookMs * REST));
      }
      await pause(restMs, { clock, signal });
      restedMs += restMs;
    }
    // The file gets shorter when the log is moved to it.
    if (restedMs > 0) await writer.ask({ kind: "move_log" });
  }

  async #pages(): Promise<Pages> {
    const [total = 0, free = 0, isShrinkable = 0] = await this.#options.writer
      .ask({ kind: "count_pages" });
    return { total, free, isShrinkable: isShrinkable === 1 };
  }

  #tell({ total, free }: Pages): void {
    if (this.#hasTold || free < MIN_KEPT_PAGES || free < total * TOLD_SHARE) {
      return;
    }
    this.#hasTold = true;
    this.#options.logger.info(
      "The database has space that only `tasks compact` returns",
      { free_megabytes: Math.round(free * PAGE_BYTES / 1_000_000) },
    );
  }
}

/** How many free pages are more than what stays. */
function excess({ total, free }: Pages): number {
  const kept = Math.max(
    MIN_KEPT_PAGES,
    Math.ceil((total - free) * KEPT_SHARE),
  );
  return free - kept;
}
