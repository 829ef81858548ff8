/**
 * How many times a cron expression fires in a span of time, by arithmetic: what
 * a request asks for must not hold up all others, and its span may be centuries.
 * The work grows with the clock changes of the span, and ends with 800 years.
 *
 * @module
 */

import type { CronExpression } from "./cron_expression.ts";
import type { CronTimes } from "./cron_times.ts";
import { DAY_MS } from "./duration.ts";
import { nextOffsetChange, offsetMsAt, readWall } from "./time_zone.ts";

/** The calendar repeats after 400 years, with its days of the week. */
const CYCLE_MS = 146_097 * DAY_MS;

/** A span of time, without its beginning and with its end. */
export interface Span {
  /** The instant before the span, in milliseconds since the epoch. */
  readonly afterMs: number;
  /** The last instant of the span. */
  readonly throughMs: number;
}

/**
 * Counts the occurrences of a cron expression in a span, by the same rules for
 * clock changes as its other occurrences. Of a span longer than 400 years the
 * last ones stand for those before them, but for what remains at its beginning:
 * clock changes repeat with the calendar, if their rules stay.
 */
export function countCron(
  cron: CronExpression,
  { afterMs, throughMs }: Span,
  timezone: string,
): number {
  const cycles = Math.max(
    0,
    Math.ceil((throughMs - afterMs) / CYCLE_MS) - 1,
  );
  const rest = { afterMs, throughMs: throughMs - cycles * CYCLE_MS };
  const count = countSpan(cron, rest, timezone);
  if (cycles === 0) return count;
  const last = { afterMs: throughMs - CYCLE_MS, throughMs };
  return count + cycles * countSpan(cron, last, timezone);
}

function countSpan(
  cron: CronExpression,
  span: Span,
  timezone: string,
): number {
  let atMs = span.afterMs;
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
  return countWalls(cron, startWallMs, endWallMs) > 0 &&
    countWalls(cron, endWallMs, endWallMs + 1) === 0;
}

/** How many wall times match from `fromMs` to before `toMs`. */
export function countWalls(
  { days, times }: CronExpression,
  fromMs: number,
  toMs: number,
): number {
  if (fromMs >= toMs) return 0;
  const fromDay = Math.floor(fromMs / DAY_MS);
  const lastDay = Math.floor((toMs - 1) / DAY_MS);
  const ofDay = timesBefore(times, DAY_MS);
  const before = days.has(fromDay)
    ? timesBefore(times, fromMs - fromDay * DAY_MS)
    : 0;
  const behind = days.has(lastDay)
    ? ofDay - timesBefore(times, toMs - lastDay * DAY_MS)
    : 0;
  return days.count({ fromDay, toDay: lastDay + 1 }) * ofDay - before - behind;
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
