/**
 * A clock for tests, whose time stands still until a test moves it.
 *
 * @module
 */

import type { Clock, Timer } from "../../services/shared/clock.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A {@linkcode Clock} whose time a test moves by hand. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<PendingTimer>();

  /**
   * Creates a clock whose time is `startMs`, in milliseconds since the Unix
   * epoch.
   */
  constructor(startMs = 1_800_000_000_000) {
    this.#nowMs = startMs;
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** The current time of the clock, in milliseconds since the Unix epoch. */
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
   * Moves the clock forward and fires the timers that become due, ordered by
   * time and then by when they were set, including timers set meanwhile.
   * Promises get no turn in between.
   *
   * @throws {RangeError} When `ms` is negative.
   */
  advance(ms: number): void {
    const endMs = this.#computeEnd(ms);
    while (this.#fireNext(endMs));
    this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  /**
   * Does the same as {@linkcode FakeClock.advance}, but promises get a turn
   * before the first timer, after each timer and at the end.
   *
   * @throws {RangeError} When `ms` is negative.
   */
  async advanceAsync(ms: number): Promise<void> {
    const endMs = this.#computeEnd(ms);
    do await turn(); while (this.#fireNext(endMs));
    this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  /**
   * Moves the clock forward while no timer fires, as when code blocks the event
   * loop; the timers fire late when the clock is moved next.
   *
   * @throws {RangeError} When `ms` is negative.
   */
  block(ms: number): void {
    this.#nowMs = this.#computeEnd(ms);
  }

  #computeEnd(ms: number): number {
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

/**
 * Waits one turn of the event loop, in which all code that can continue does.
 */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
