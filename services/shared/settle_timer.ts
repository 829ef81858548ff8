/**
 * One call for a burst of events.
 *
 * @module
 */

import type { Clock, Timer } from "./clock.ts";

/** How a burst is told from the next one. */
export interface SettleTimerOptions {
  /** The time source. */
  readonly clock: Clock;
  /** How long it must be quiet before the call, in milliseconds. */
  readonly settleMs: number;
  /** How long a burst that does not end may put the call off. */
  readonly maxWaitMs: number;
  /** Called when the burst is over. */
  readonly onSettled: () => void;
}

/** Calls once it has been quiet for a while, or too long has not been. */
export class SettleTimer {
  readonly #options: SettleTimerOptions;
  #timer: Timer | undefined;
  #burstStartMs = 0;

  /** Prepares a timer; nothing runs yet. */
  constructor(options: SettleTimerOptions) {
    this.#options = options;
  }

  /** Tells that an event came. */
  touch(): void {
    const { clock, settleMs, maxWaitMs } = this.#options;
    const nowMs = clock.nowMs();
    if (this.#timer === undefined) this.#burstStartMs = nowMs;
    this.#timer?.cancel();
    const leftMs = this.#burstStartMs + maxWaitMs - nowMs;
    const delayMs = Math.max(0, Math.min(settleMs, leftMs));
    this.#timer = clock.setTimer(() => {
      this.#timer = undefined;
      this.#options.onSettled();
    }, delayMs);
  }

  /** Forgets the events so far. */
  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
