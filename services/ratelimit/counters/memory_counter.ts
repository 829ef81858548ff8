/**
 * One counter in memory: when it ends, how much of its limit is used up, and
 * what it says while the clock is set back.
 *
 * @module
 */

import type { CounterOperation, CounterResult } from "./counter_store.ts";
import type { SlidingWindow } from "./sliding_window.ts";
import type { TokenBucket } from "./token_bucket.ts";

/** A counter of any algorithm. */
export interface MemoryCounter {
  /** Length of its window. */
  readonly windowSeconds: number;
  /** First second of the window that it counts, by the time of day. */
  windowStart: number;
  /** When it began to count its window, by the monotonic clock. */
  begunMs: number;
  /** Hits in its window. */
  count: number;
  /** The most that it admits, as the last operation said. */
  limit: number;
  /**
   * What counts in place of the count, where the algorithm isn't the fixed
   * window. A field of all counters, since code that meets one form of object
   * is the fastest.
   */
  readonly paced: SlidingWindow | TokenBucket | undefined;
}

/** When a batch is applied. */
export interface Moment {
  /** By the time of day, whole Unix seconds. */
  readonly nowSeconds: number;
  /** By the monotonic clock. */
  readonly monotonicMs: number;
}

/** The monotonic clock in whole microseconds, as paced counters take it. */
export function microsOf({ monotonicMs }: Moment): number {
  return Math.round(monotonicMs * 1_000);
}

/** How much of its limit a counter has used up. */
export function shareOf(
  { count, limit, paced }: MemoryCounter,
  moment: Moment,
): number {
  if (limit <= 0) return 1;
  return (paced?.usedAt(microsOf(moment)) ?? count) / limit;
}

/**
 * Whether a counter's window is over, by the time of day or since its length
 * has passed; or a paced counter is as good as new.
 */
export function hasEnded(counter: MemoryCounter, moment: Moment): boolean {
  if (counter.paced !== undefined) {
    return microsOf(moment) >= counter.paced.wholeAtMicros;
  }
  const { windowStart, windowSeconds, begunMs } = counter;
  return moment.nowSeconds >= windowStart + windowSeconds ||
    moment.monotonicMs - begunMs >= windowSeconds * 1_000;
}

/**
 * What a counter says whose window has not begun by the time of day, which was
 * set back: its end is measured by the monotonic clock.
 */
export function verdictAhead(
  counter: MemoryCounter,
  { hits, limit }: CounterOperation,
  moment: Moment,
): CounterResult {
  const over = Math.max(0, counter.count - limit);
  const elapsedMs = moment.monotonicMs - counter.begunMs;
  return {
    isOver: over > 0,
    hitsOver: Math.min(Math.max(0, hits), over),
    remaining: Math.max(0, limit - counter.count),
    resetSeconds: Math.ceil(counter.windowSeconds - elapsedMs / 1_000),
  };
}

/** A count within what is counted exactly. */
export function saturate(count: number): number {
  if (count < 0) return 0;
  return count > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : count;
}
