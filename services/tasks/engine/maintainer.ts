/**
 * The base class of periodic background work. It runs at the start, at an
 * interval, and when it is woken, one run at a time.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import type { EngineParts } from "./parts.ts";

/** Options of {@linkcode Maintainer}. */
interface MaintainerOptions {
  /** The clock and the logger. */
  readonly parts: Pick<EngineParts, "clock" | "logger">;
  /** Milliseconds between two runs. */
  readonly intervalMs: number;
  /** The message that is logged when a run fails, with its error. */
  readonly failure: string;
}

/**
 * Periodic background work. A run that fails is logged, and the next one does
 * its work.
 */
export abstract class Maintainer {
  readonly #periodic: Periodic;

  /** Sets the work up without starting it. */
  constructor({ parts, intervalMs, failure }: MaintainerOptions) {
    const { clock, logger } = parts;
    this.#periodic = new Periodic({
      clock,
      intervalMs,
      run: () => this.runOnce(),
      onError: (error) => logger.error(failure, { error: String(error) }),
    });
  }

  /** Starts; the first run follows at once. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wake();
  }

  /** Runs the work now, or once more after the current run. */
  wake(): void {
    this.#periodic.wake();
  }

  /** Stops after the current step; the rest waits for the next start. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /** Aborted when the current run has to end. */
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
