/**
 * Tells a peer that only makes work from one that also has work done.
 *
 * @module
 */

import type { Clock } from "../clock.ts";

/** How much is let pass. */
export interface FloodGuardOptions {
  /** The time source; it is read only when the allowance is used up. */
  readonly clock: Clock;
  /** Most that is ever allowed at once. */
  readonly burst: number;
  /** What is added with each second. */
  readonly perSecond: number;
}

/** An allowance that time and useful work fill up (a token bucket). */
export class FloodGuard {
  readonly #options: FloodGuardOptions;
  #left: number;
  #filledMs: number;

  /** A full allowance. */
  constructor(options: FloodGuardOptions) {
    this.#options = options;
    this.#left = options.burst;
    this.#filledMs = options.clock.nowMs();
  }

  /** Counts one; false when it is one too many. */
  pass(): boolean {
    if (this.#left < 1) this.#fill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** Allows `count` more, up to the burst, since work has been done. */
  earn(count: number): void {
    const left = this.#left + count;
    const { burst } = this.#options;
    this.#left = left > burst ? burst : left;
  }

  #fill(): void {
    const { clock, perSecond } = this.#options;
    const nowMs = clock.nowMs();
    // A clock that was set back gives nothing, and takes nothing.
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    this.earn(passedMs * perSecond / 1_000);
  }
}
