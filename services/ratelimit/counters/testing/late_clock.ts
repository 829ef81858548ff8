/**
 * A clock of a process that may stand still.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";

interface LateTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A clock whose timers fire when a test says so, which may be late. */
export class LateClock implements Clock {
  #nowMs = 1_000;
  #timers: LateTimer[] = [];

  /** The time, in milliseconds. */
  nowMs(): number {
    return this.#nowMs;
  }

  /** Sets a timer for {@linkcode LateClock.turn}. */
  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = { callback, dueMs: this.#nowMs + delayMs };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Lets time pass in which the process does nothing. */
  standStill(ms: number): void {
    this.#nowMs += ms;
  }

  /** Fires the timers that are due; those they set fire in a later turn. */
  turn(): void {
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#timers = this.#timers.filter(({ dueMs }) => dueMs > this.#nowMs);
    for (const { callback } of due) callback();
  }
}
