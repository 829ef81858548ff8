/**
 * What the sliding window and the token bucket have in common, the algorithms
 * without fixed windows: how the reading of a counter becomes a verdict.
 *
 * @module
 */

import {
  type CounterOperation,
  type CounterVerdict,
  getCapacity,
} from "./counter_store.ts";

/** Microseconds in a second: times of paced counters are whole microseconds. */
export const MICROS_PER_SECOND = 1_000_000;

/** What a counter reads right after an operation. */
export interface PacedReading {
  /**
   * True when the hits did not fit; for a look, when not even one hit would.
   */
  readonly isOver: boolean;
  /** Whole hits that would pass now. */
  readonly remaining: number;
  /**
   * Microseconds until the refused hits would pass; when none were refused,
   * until one hit would.
   */
  readonly waitMicros: number;
  /** Microseconds until the counter is as good as new. */
  readonly wholeMicros: number;
}

/** The parts of an operation on which a verdict depends. */
type JudgedOperation = Pick<
  CounterOperation,
  "hits" | "limit" | "burst" | "windowSeconds"
>;

/**
 * The longest time in seconds that a protobuf Duration holds, ten thousand
 * years.
 */
const MAX_DURATION_SECONDS = 315_576_000_000;

/**
 * Makes the verdict on an operation. Its reset time is, for a refused call, the
 * time after which it passes if no other call takes what is freed; where
 * nothing remains, the time after which one hit passes; otherwise the time
 * after which the limit is whole. A call of more hits than the limit holds
 * never passes, and is told the length of the window.
 */
export function pacedVerdict(
  reading: PacedReading,
  operation: JudgedOperation,
): CounterVerdict {
  const { isOver, remaining, waitMicros, wholeMicros } = reading;
  const { windowSeconds } = operation;
  const hits = Math.max(0, operation.hits);
  const isHopeless = isOver && Math.max(1, hits) > getCapacity(operation);
  const micros = isOver || remaining === 0 ? waitMicros : wholeMicros;
  return {
    isOver,
    hitsOver: isOver ? hits : 0,
    remaining,
    resetSeconds: isHopeless ? windowSeconds : toSeconds(micros),
    waitMs: !isOver
      ? 0
      : isHopeless
      ? windowSeconds * 1_000
      : Math.floor(waitMicros / 1_000),
  };
}

function toSeconds(micros: number): number {
  return Math.min(
    MAX_DURATION_SECONDS,
    Math.ceil(micros / MICROS_PER_SECOND),
  );
}
