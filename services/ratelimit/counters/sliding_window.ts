/**
 * The sliding window: a limit over every stretch of one window's length, not
 * only over those that begin at multiples of it.
 *
 * @module
 */

import type { CounterOperation, CounterVerdict } from "./counter_store.ts";
import { MICROS_PER_SECOND, pacedVerdict } from "./paced_verdict.ts";

/**
 * Number of slices in a window; also the greatest limit whose hits are told
 * apart by the millisecond.
 */
const SLICES = 32;
const FINEST_MICROS = 1_000;
/** Numbers that {@linkcode SlidingWindow.writeTo} writes at most. */
export const MOST_WINDOW_NUMBERS: number = 2 + 2 * (2 * SLICES + 1);

/**
 * Returns the length of the slices in which hits are added up, in microseconds:
 * a millisecond up to a limit of 32, so that a counter never has more than 32
 * of them; else a 32nd of the window.
 */
export function sliceMicros(limit: number, windowSeconds: number): number {
  return limit <= SLICES
    ? FINEST_MICROS
    : windowSeconds * MICROS_PER_SECOND / SLICES;
}

/** The parts of an operation that a sliding window uses. */
type SlidingOperation = Pick<
  CounterOperation,
  "hits" | "limit" | "windowSeconds"
>;

/**
 * Counts hits by slices of time and admits no more than the limit over the
 * window behind each moment, in memory that doesn't grow with the limit: at
 * most 65 slices, usually 33 or fewer.
 *
 * A slice counts until the window's length after its own end, so that the
 * limit holds in every stretch of that length. The price is that a hit counts
 * up to one slice too long: a millisecond, or a 32nd of the window where the
 * limit is above 32. Hits that don't all fit are refused together and not
 * charged. Hits that are given back are those taken last.
 */
export class SlidingWindow {
  /** When each slice ends, in microseconds, in order. */
  readonly #ends: number[] = [];
  /** The hits of each slice, at least 1. */
  readonly #hits: number[] = [];
  #used = 0;
  #windowMicros = 0;

  /** Number of slices that are kept. */
  get size(): number {
    return this.#ends.length;
  }

  /** Writes the state as numbers; returns how many numbers that is. */
  writeTo(numbers: Float64Array): number {
    numbers[0] = this.#windowMicros;
    numbers[1] = this.#used;
    let at = 2;
    for (let i = 0; i < this.#ends.length; i++) {
      numbers[at++] = this.#ends[i]!;
      numbers[at++] = this.#hits[i]!;
    }
    return at;
  }

  /** Restores the state that was written as these numbers. */
  readFrom(numbers: Float64Array, count: number): void {
    this.reset();
    this.#windowMicros = numbers[0]!;
    this.#used = numbers[1]!;
    for (let at = 2; at < count; at += 2) {
      this.#ends.push(numbers[at]!);
      this.#hits.push(numbers[at + 1]!);
    }
  }

  /** Resets the state to that of a new counter. */
  reset(): void {
    this.#ends.length = 0;
    this.#hits.length = 0;
    this.#used = 0;
    this.#windowMicros = 0;
  }

  /** Microseconds from which on the counter is as good as new. */
  get wholeAtMicros(): number {
    return (this.#ends.at(-1) ?? -Infinity) + this.#windowMicros;
  }

  /** Returns the hits that count at a time. */
  usedAt(nowMicros: number): number {
    this.#dropEnded(nowMicros);
    return this.#used;
  }

  /**
   * Applies an operation.
   *
   * @param nowMicros Whole microseconds by a clock that never goes back.
   */
  apply(operation: SlidingOperation, nowMicros: number): CounterVerdict {
    const { hits, limit, windowSeconds } = operation;
    this.#windowMicros = windowSeconds * MICROS_PER_SECOND;
    this.#dropEnded(nowMicros);
    const isRefused = hits > 0 && this.#used + hits > limit;
    if (hits > 0 && !isRefused) {
      this.#take(hits, {
        nowMicros,
        slice: sliceMicros(limit, windowSeconds),
      });
    } else if (hits < 0) {
      this.#giveBack(-hits);
    }
    const remaining = Math.max(0, limit - this.#used);
    const missing = (isRefused ? hits : 1) - (limit - this.#used);
    return pacedVerdict({
      isOver: isRefused || (hits <= 0 && remaining === 0),
      remaining,
      waitMicros: this.#untilFree(missing, nowMicros),
      wholeMicros: Math.max(0, this.wholeAtMicros - nowMicros),
    }, operation);
  }

  #dropEnded(nowMicros: number): void {
    const ends = this.#ends;
    while (ends.length > 0 && ends[0]! + this.#windowMicros <= nowMicros) {
      ends.shift();
      this.#used -= this.#hits.shift()!;
    }
  }

  #take(
    hits: number,
    at: { readonly nowMicros: number; readonly slice: number },
  ): void {
    const end = (Math.floor(at.nowMicros / at.slice) + 1) * at.slice;
    const last = this.#ends.length - 1;
    // The last slice may end later: slices were longer with another limit.
    if (last >= 0 && this.#ends[last]! >= end) {
      this.#hits[last]! += hits;
    } else {
      this.#ends.push(end);
      this.#hits.push(hits);
    }
    this.#used += hits;
  }

  #giveBack(hits: number): void {
    let left = Math.min(hits, this.#used);
    this.#used -= left;
    while (left > 0) {
      const last = this.#hits.length - 1;
      const inLast = this.#hits[last]!;
      if (inLast > left) {
        this.#hits[last] = inLast - left;
        return;
      }
      left -= inLast;
      this.#hits.pop();
      this.#ends.pop();
    }
  }

  /**
   * Returns the microseconds until so many of the hits no longer count, or all
   * of them if they are fewer.
   */
  #untilFree(hits: number, nowMicros: number): number {
    if (hits <= 0) return 0;
    let freed = 0;
    let end = -Infinity;
    for (let i = 0; i < this.#ends.length && freed < hits; i++) {
      freed += this.#hits[i]!;
      end = this.#ends[i]!;
    }
    return Math.max(0, end + this.#windowMicros - nowMicros);
  }
}
