/**
 * A clock for simulations: it advances as fast as the work allows, and the time
 * of day can be set back and forth while timers go on, as on a real machine.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../../services/shared/clock.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** A {@linkcode Clock} that a test moves by hand. */
export class SteppingClock implements Clock {
  /** The time that has passed, which is never set back; timers use it. */
  #elapsedMs = 0;
  #startMs: number;
  #order = 0;
  #pending = 0;
  /** A binary heap of the timers, the next one first. */
  readonly #heap: PendingTimer[] = [];

  /** Starts the clock at `startMs`, in milliseconds since the epoch. */
  constructor(startMs = 1_800_000_000_000) {
    this.#startMs = startMs;
  }

  /** How many timers are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#pending;
  }

  /** Milliseconds that have passed, however the time of day was set. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** The time of day. */
  nowMs(): number {
    return this.#startMs + this.#elapsedMs;
  }

  /**
   * The time that has passed, never set back, with fractions of a millisecond
   * as on a real machine.
   */
  monotonicMs(): number {
    return this.#elapsedMs + this.#elapsedMs * 0.618 % 1 * 0.4;
  }

  /** Sets a timer; setting the time of day does not affect it. */
  setTimer(callback: () => void, delayMs: number): Timer {
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    const timer: PendingTimer = { dueMs, order: this.#order++, callback };
    this.#pending++;
    push(this.#heap, timer);
    return {
      cancel: () => {
        if (timer.callback === undefined) return;
        timer.callback = undefined;
        this.#pending--;
      },
    };
  }

  /**
   * Sets the time of day forward, or back when `ms` is negative; no time
   * passes.
   */
  step(ms: number): void {
    this.#startMs += ms;
  }

  /** Waits until this much time has passed on this clock. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(resolve, ms));
  }

  /**
   * Advances the time and fires due timers; pending promises are processed
   * before and after each timer.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    do await turn(); while (this.fireNext(endMs));
    this.#elapsedMs = endMs;
  }

  /** Fires the next timer that is due by `endMs` of the passed time. */
  fireNext(endMs: number): boolean {
    while (true) {
      const next = this.#heap[0];
      if (next === undefined || next.dueMs > endMs) return false;
      pop(this.#heap);
      const { callback } = next;
      if (callback === undefined) continue;
      next.callback = undefined;
      this.#pending--;
      this.#elapsedMs = next.dueMs;
      callback();
      return true;
    }
  }
}

/**
 * Waits for one turn of the event loop, in which all pending promises are
 * processed.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(left: PendingTimer, right: PendingTimer): boolean {
  return left.dueMs < right.dueMs ||
    left.dueMs === right.dueMs && left.order < right.order;
}

function push(heap: PendingTimer[], timer: PendingTimer): void {
  let index = heap.length;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || isBefore(above, timer)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = timer;
}

function pop(heap: PendingTimer[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  while (true) {
    let child = 2 * index + 1;
    const [left, right] = [heap[child], heap[child + 1]];
    if (left === undefined) break;
    const isRight = right !== undefined && isBefore(right, left);
    const least = isRight ? right : left;
    if (isRight) child++;
    if (isBefore(last, least)) break;
    heap[index] = least;
    index = child;
  }
  heap[index] = last;
}
