/**
 * A clock for tests on which every delay passes at once.
 *
 * @module
 */

import type { ClientClock, ClientTimer } from "../client_clock.ts";

/**
 * A {@linkcode ClientClock} that jumps to the time of a timer as soon as it is
 * set.
 */
export class InstantClock implements ClientClock {
  /** The delays that were waited for, in milliseconds. */
  readonly delaysMs: number[] = [];
  #nowMs: number;

  /**
   * Creates a clock that starts at `startMs`, milliseconds since the Unix
   * epoch.
   */
  constructor(startMs = 1_800_000_000_000) {
    this.#nowMs = startMs;
  }

  /** The time. */
  nowMs(): number {
    return this.#nowMs;
  }

  /** Moves the time forward, as work of this duration would. */
  pass(ms: number): void {
    this.#nowMs += ms;
  }

  /**
   * Moves the time to that of the timer and fires it, unless it is cancelled.
   */
  setTimer(callback: () => void, delayMs: number): ClientTimer {
    let isSet = true;
    queueMicrotask(() => {
      if (!isSet) return;
      this.delaysMs.push(delayMs);
      this.#nowMs += delayMs;
      callback();
    });
    return { cancel: () => isSet = false };
  }
}
