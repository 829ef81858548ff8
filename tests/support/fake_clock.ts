/**
 * A clock for tests: time stands still until a test moves it.
 *
 * @module
 */

import type { Clock, Timer } from "../../services/shared/clock.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A {@linkcode Clock} that a test moves by hand. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<PendingTimer>();

  /** A clock that stands at `startMs`, milliseconds since the Unix epoch. */
  constructor(startMs = 1_800_000_000_000) {
    this.#nowMs = startMs;
  }

  /** How many timers are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** The time the clock stands at. */
  nowMs(): number {
    return this.#nowMs;
  }

  /** Sets a timer that fires when the clock is moved to its time. */
  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = { callback, dueMs: this.#nowMs + Math.max(0, delayMs) };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  /**
   * Moves the clock and fires what is due on the way, in order of time, then
   * of setting; timers set meanwhile too. Promises get no turn in between.
   *
   * @throws {RangeError} When `ms` is negative.
   */
  advance(ms: number): void {
    const endMs = this.#endOf(ms);
    while (this.#fireNext(endMs));
    this.#nowMs = endMs;
  }

  /**
   * Like {@linkcode FakeClock.advance}, and promises get a turn before the
   * first timer, after each and at the end.
   *
   * @throws {RangeError} When `ms` is negative.
   */
  async advanceAsync(ms: number): Promise<void> {
    const endMs = this.#endOf(ms);
    do await turn(); while (this.#fireNext(endMs));
    this.#nowMs = endMs;
  }

  #endOf(ms: number): number {
    if (ms >= 0) return this.#nowMs + ms;
    throw new RangeError(`Cannot advance clock: "${ms}" ms is negative`);
  }

  #fireNext(endMs: number): boolean {
    let next: PendingTimer | undefined;
    for (const timer of this.#timers) {
      const sooner = next === undefined || timer.dueMs < next.dueMs;
      if (timer.dueMs <= endMs && sooner) next = timer;
    }
    if (next === undefined) return false;
    this.#timers.delete(next);
    this.#nowMs = Math.max(this.#nowMs, next.dueMs);
    next.callback();
    return true;
  }
}

/** One turn of the event loop: everything that can go on has gone on. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
