/**
 * Removes from the store what has outlived its time.
 *
 * @module
 */

import { repeatEvery } from "../../shared/repeat.ts";
import type { Timer } from "../../shared/clock.ts";
import type { EngineParts } from "./parts.ts";

/** Time between two rounds. */
const INTERVAL_MS = 60_000;
/** Most entries of one step, so that others get their turn. */
const STEP = 1_000;

/**
 * Sweeps once a minute: answers kept for repeated requests, and histories of
 * removed tasks that were too long to go with them.
 */
export class Sweeping {
  readonly #parts: Pick<EngineParts, "store" | "clock" | "logger">;
  #timer: Timer | undefined;
  #round: Promise<void> | undefined;
  #isStopped = false;

  /** Sweeps nothing yet. */
  constructor(parts: Pick<EngineParts, "store" | "clock" | "logger">) {
    this.#parts = parts;
  }

  /** Begins. */
  start(): void {
    this.#timer = repeatEvery(this.#parts.clock, {
      intervalMs: INTERVAL_MS,
      run: () => {
        this.#round ??= this.#sweep().finally(() => this.#round = undefined);
      },
    });
  }

  /** Ends, after the step that runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#round;
  }

  async #sweep(): Promise<void> {
    const { store, clock, logger } = this.#parts;
    try {
      let removed: number;
      do removed = await store.sweep(clock.nowMs(), STEP); while (
        removed >= STEP && !this.#isStopped
      );
    } catch (error) {
      logger.error("Cannot remove what has expired: the store failed", {
        error: String(error),
      });
    }
  }
}
