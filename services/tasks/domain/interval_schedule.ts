/**
 * Occurrences of an interval: occurrence k is the anchor plus k times the
 * interval. Each is counted from the anchor, never from the one before it, so a
 * month that is too short moves its own occurrence alone and nothing drifts.
 *
 * @module
 */

import { type Duration, nominalMs } from "./duration.ts";
import { offsetMsAt, readWall } from "./time_zone.ts";

/** Where a grid of occurrences begins and what its calendar is. */
export interface Grid {
  /** Occurrence 0, in milliseconds since the epoch. */
  readonly anchorMs: number;
  /** The IANA zone whose calendar months and days are counted in. */
  readonly timezone: string;
}

/** One occurrence of an interval. */
interface IntervalOccurrence {
  /** How many intervals after the anchor. */
  readonly index: number;
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Whether the wall clock skips the time, so that it was moved behind the gap. */
  readonly isGapMoved: boolean;
  /** Whether the wall clock shows the time twice; the first time is meant. */
  readonly isOverlap: boolean;
  /** Whether the month lacks the anchor's day, so that its last day was taken. */
  readonly isMonthShort: boolean;
}

/**
 * The occurrence of an index. Months are added first (a day that the month
 * lacks becomes its last one), then days, both on the wall clock of the grid's
 * zone; then the exact part as elapsed time. A wall time that the clock skips
 * moves on by the length of the gap, one that it shows twice is the first.
 */
export function intervalOccurrence(
  every: Duration,
  index: number,
  grid: Grid,
): IntervalOccurrence {
  // Elapsed time is the same on every date.
  if (index === 0 || every.months === 0 && every.days === 0) {
    return {
      index,
      atMs: grid.anchorMs + every.ms * index,
      isGapMoved: false,
      isOverlap: false,
      isMonthShort: false,
    };
  }
  const anchorWallMs = grid.anchorMs + offsetMsAt(grid.anchorMs, grid.timezone);
  const start = Temporal.Instant.fromEpochMilliseconds(anchorWallMs)
    .toZonedDateTimeISO("UTC");
  const month = start.add({ months: every.months * index });
  const date = month.add({ days: every.days * index });
  const reading = readWall(date.epochMilliseconds, grid.timezone);
  const dateMs = reading.kind === "gap" ? reading.shiftedMs : reading.atMs;
  return {
    index,
    atMs: dateMs + every.ms * index,
    isGapMoved: reading.kind === "gap",
    isOverlap: reading.kind === "overlap",
    isMonthShort: month.day !== start.day,
  };
}

/**
 * The first occurrence after an instant. However far the instant is from the
 * anchor, at most a handful of occurrences are looked at: the index is estimated
 * from the interval's usual length, and calendar and clock changes put that
 * wrong by no more than about four days in all.
 *
 * @param every Longer than nothing.
 */
export function intervalAfter(
  every: Duration,
  afterMs: number,
  grid: Grid,
): IntervalOccurrence {
  const estimate = Math.floor((afterMs - grid.anchorMs) / nominalMs(every)) + 1;
  let next = intervalOccurrence(every, Math.max(0, estimate), grid);
  while (next.atMs <= afterMs) {
    next = intervalOccurrence(every, next.index + 1, grid);
  }
  while (next.index > 0) {
    const previous = intervalOccurrence(every, next.index - 1, grid);
    if (previous.atMs <= afterMs) break;
    next = previous;
  }
  return next;
}
