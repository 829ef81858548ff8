/**
 * How many times a cron expression fires in a span of time, without walking
 * through them: days are counted one by one, the times of a day by arithmetic.
 *
 * @module
 */

import type { CronExpression, CronTimes } from "./cron_expression.ts";
import { DAY_MS } from "./duration.ts";
import { nextOffsetChange, offsetMsAt, readWall } from "./time_zone.ts";

/** Longest span that is counted, ten years, which bounds the work. */
export const MAX_COUNTED_MS = 3_653 * DAY_MS;

/** A span of time, without its beginning and with its end. */
export interface Span {
  /** The instant before the span, in milliseconds since the epoch. */
  readonly afterMs: number;
  /** The last instant of the span. */
  readonly throughMs: number;
}

/**
 * Counts the occurrences of a cron expression in a span, by the same rules for
 * clock changes as its other occurrences. Of a span longer than
 * {@linkcode MAX_COUNTED_MS} only the last part of that length is counted.
 */
export function countCron(
  cron: CronExpression,
  span: Span,
  timezone: string,
): number {
  let atMs = Math.max(span.afterMs, span.throughMs - MAX_COUNTED_MS);
  let offsetMs = offsetMsAt(atMs, timezone);
  let fromWallMs = firstWall(cron, atMs, timezone);
  let count = 0;
  while (true) {
    const changeMs = nextOffsetChange(atMs, timezone) ?? Infinity;
    if (changeMs > span.throughMs) break;
    const oldWallMs = changeMs + offsetMs;
    offsetMs = offsetMsAt(changeMs, timezone);
    const newWallMs = changeMs + offsetMs;
    count += countWalls(cron, fromWallMs, oldWallMs);
    if (cron.isFixedTime && firesAtGapEndOnly(cron, oldWallMs, newWallMs)) {
      count++;
    }
    // Fixed times have fired on the first pass of an hour that is repeated.
    fromWallMs = cron.isFixedTime ? Math.max(oldWallMs, newWallMs) : newWallMs;
    atMs = changeMs;
  }
  return count + countWalls(cron, fromWallMs, span.throughMs + offsetMs + 1);
}

/** The first wall time after an instant that can fire for the first time. */
function firstWall(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number {
  const wallMs = afterMs + offsetMsAt(afterMs, timezone);
  if (cron.isFixedTime) {
    const reading = readWall(wallMs, timezone);
    if (reading.kind === "overlap" && afterMs >= reading.secondMs) {
      return reading.endWallMs;
    }
  }
  return wallMs + 1;
}

/** Whether a gap swallowed a time, and its end is not a matching time itself. */
function firesAtGapEndOnly(
  cron: CronExpression,
  startWallMs: number,
  endWallMs: number,
): boolean {
  const wallMs = cron.wallFrom(startWallMs);
  return wallMs !== undefined && wallMs < endWallMs &&
    cron.wallFrom(endWallMs) !== endWallMs;
}

/** Matching wall times from `fromMs` to before `toMs`. */
function countWalls(
  cron: CronExpression,
  fromMs: number,
  toMs: number,
): number {
  let count = 0;
  let dayMs = cron.nextDay(Math.floor(fromMs / DAY_MS) * DAY_MS - 1);
  while (dayMs !== undefined && dayMs < toMs) {
    count += timesBefore(cron.times, Math.min(DAY_MS, toMs - dayMs)) -
      timesBefore(cron.times, Math.max(0, fromMs - dayMs));
    dayMs = cron.nextDay(dayMs);
  }
  return fromMs < toMs ? count : 0;
}

/** Matching times of a day before `ms` milliseconds after its beginning. */
function timesBefore(times: CronTimes, ms: number): number {
  const { hours, minutes, seconds } = times;
  const all = Math.ceil(ms / 1_000);
  const hour = Math.floor(all / 3_600);
  const minute = Math.floor(all / 60) % 60;
  const wholeHours = below(hours, hour) * minutes.length * seconds.length;
  if (!hours.includes(hour)) return wholeHours;
  const wholeMinutes = wholeHours + below(minutes, minute) * seconds.length;
  if (!minutes.includes(minute)) return wholeMinutes;
  return wholeMinutes + below(seconds, all % 60);
}

function below(values: readonly number[], bound: number): number {
  return values.filter((value) => value < bound).length;
}
