/**
 * Waiting that can be ended.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";

/** Pauses of several calls, which all end when told so. */
export class Pauses {
  readonly #clock: Clock;
  readonly #open = new Map<Timer, () => void>();
  #isEnded = false;

  /** Nobody waits yet. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms` milliseconds, or at the end. */
  pause(ms: number): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(() => {
        this.#open.delete(timer);
        resolve();
      }, ms);
      this.#open.set(timer, resolve);
    });
  }

  /** Ends all pauses, and those to come at once. */
  end(): void {
    this.#isEnded = true;
    for (const [timer, resolve] of this.#open) {
      timer.cancel();
      resolve();
    }
    this.#open.clear();
  }
}
