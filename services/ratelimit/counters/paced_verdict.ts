/**
 * What the counters without windows of their own, the sliding window and the
 * token bucket, have in common: how a reading becomes a verdict.
 *
 * @module
 */

import {
  capacityOf,
  type CounterOperation,
  type CounterVerdict,
} from "./counter_store.ts";

/** Times of paced counters are whole microseconds. */
export const MICROS_PER_SECOND = 1_000_000;

/** What a counter says right after an operation. */
export interface PacedReading {
  /** The hits did not fit; for a look, no hit would. */
  readonly isOver: boolean;
  /** Whole hits that would pass now. */
  readonly remaining: number;
  /**
   * Until the hits that were refused would pass; where none were, until one
   * hit would.
   */
  readonly waitMicros: number;
  /** Until the counter is as good as new. */
  readonly wholeMicros: number;
}

/** What of an operation a verdict depends on. */
type JudgedOperation = Pick<
  CounterOperation,
  "hits" | "limit" | "burst" | "windowSeconds"
>;

/** The longest time that a protobuf Duration holds, ten thousand years. */
const MAX_DURATION_SECONDS = 315_576_000_000;

/**
 * Makes the verdict. Its time is that after which a refused call passes if no
 * other one takes what is freed; where nothing remains, that after which one
 * hit does; else that after which the limit is whole. A call of more hits than
 * the limit holds never passes, and is told the length of the window.
 */
export function pacedVerdict(
  reading: PacedReading,
  operation: JudgedOperation,
): CounterVerdict {
  const { isOver, remaining, waitMicros, wholeMicros } = reading;
  const { windowSeconds } = operation;
  const hits = Math.max(0, operation.hits);
  const isHopeless = isOver && Math.max(1, hits) > capacityOf(operation);
  const micros = isOver || remaining === 0 ? waitMicros : wholeMicros;
  return {
    isOver,
    hitsOver: isOver ? hits : 0,
    remaining,
    resetSeconds: isHopeless ? windowSeconds : secondsOf(micros),
    waitMs: !isOver
      ? 0
      : isHopeless
      ? windowSeconds * 1_000
      : Math.floor(waitMicros / 1_000),
  };
}

function secondsOf(micros: number): number {
  return Math.min(
    MAX_DURATION_SECONDS,
    Math.ceil(micros / MICROS_PER_SECOND),
  );
}
