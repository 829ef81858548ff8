/**
 * Work that the service does in the background again and again: at its start, at
 * an interval, and when it is woken; one run at a time.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import type { EngineParts } from "./parts.ts";

/** Options of {@linkcode Maintainer}. */
interface MaintainerOptions {
  /** Time and the log. */
  readonly parts: Pick<EngineParts, "clock" | "logger">;
  /** Milliseconds between two runs. */
  readonly intervalMs: number;
  /** The message that is logged when a run fails, with its error. */
  readonly failure: string;
}

/** One kind of such work; a run that fails is logged, and made up for by the next. */
export abstract class Maintainer {
  readonly #periodic: Periodic;

  /** Does not run yet. */
  constructor({ parts, intervalMs, failure }: MaintainerOptions) {
    const { clock, logger } = parts;
    this.#periodic = new Periodic({
      clock,
      intervalMs,
      run: () => this.runOnce(),
      onError: (error) => logger.error(failure, { error: String(error) }),
    });
  }

  /** Starts with a run at once. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /** Runs now, or once more after the run under way. */
  wake(): void {
    this.#periodic.wake();
  }

  /** Ends after the step under way; the rest waits for the next start. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /** Aborted when the run under way is to end. */
  protected get stopping(): AbortSignal {
    return this.#periodic.signal;
  }

  /**
   * Does the work once.
   *
   * @throws {Error} when the store fails
   */
  abstract runOnce(): Promise<unknown>;
}
