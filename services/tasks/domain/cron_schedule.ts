/**
 * Occurrences of a cron expression in a time zone. What happens at clock changes
 * is decided here:
 *
 * - Fixed times (no `*`, `?` or step in second, minute and hour): a time that
 *   the clock skips fires at the first instant after the gap, a time that it
 *   shows twice fires the first time only. Times that meet fire once.
 * - Intervals (all others): times that are skipped do not fire, times that are
 *   shown twice fire both times.
 *
 * @module
 */

import type { CronExpression } from "./cron_expression.ts";
import {
  lastOffsetChange,
  nextOffsetChange,
  offsetMsAt,
  readWall,
} from "./time_zone.ts";
import { DAY_MS } from "./duration.ts";

/**
 * Gaps (or repeated hours) that a search passes before it gives up. An interval
 * that hits a gap of its zone every time, such as every minute of a skipped
 * hour, never fires at all.
 */
const MAX_CHANGES = 100;

/**
 * The first occurrence after an instant, in milliseconds since the epoch.
 * Undefined when there is none up to the year 3000, or none but within gaps for
 * a hundred clock changes.
 */
export function cronAfter(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number | undefined {
  return cron.isFixedTime
    ? fixedAfter(cron, afterMs, timezone)
    : intervalAfter(cron, afterMs, timezone);
}

/** Tells whether a fixed time that a gap swallowed is what fires at its end. */
export function isGapEnd(
  cron: CronExpression,
  atMs: number,
  timezone: string,
): boolean {
  if (!cron.isFixedTime) return false;
  const gapStartMs = atMs + offsetMsAt(atMs - 1, timezone);
  const gapEndMs = atMs + offsetMsAt(atMs, timezone);
  if (gapStartMs >= gapEndMs) return false;
  const swallowedMs = cron.wallFrom(gapStartMs);
  return swallowedMs !== undefined && swallowedMs < gapEndMs;
}

/** Tells whether a fixed time fires once although the clock shows it twice. */
export function isOverlapOnce(
  cron: CronExpression,
  atMs: number,
  timezone: string,
): boolean {
  if (!cron.isFixedTime) return false;
  const wallMs = atMs + offsetMsAt(atMs, timezone);
  return readWall(wallMs, timezone).kind === "overlap";
}

/**
 * The instants of fixed times rise with their wall times, so wall times are
 * tried in order. Only within the second pass of a repeated hour can they lie
 * behind `afterMs`; then all of that hour is passed at once.
 */
function fixedAfter(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number | undefined {
  let wallMs = cron.nextWall(afterMs + offsetMsAt(afterMs, timezone));
  for (let tries = 0; tries < MAX_CHANGES && wallMs !== undefined; tries++) {
    const reading = readWall(wallMs, timezone);
    const atMs = reading.kind === "gap" ? reading.endMs : reading.atMs;
    if (atMs > afterMs) return atMs;
    wallMs = reading.kind === "overlap"
      ? cron.wallFrom(reading.endWallMs)
      : cron.nextWall(wallMs);
  }
  return undefined;
}

function intervalAfter(
  cron: CronExpression,
  afterMs: number,
  timezone: string,
): number | undefined {
  const offsetMs = offsetMsAt(afterMs, timezone);
  const plainWallMs = cron.nextWall(afterMs + offsetMs);
  const changeMs = nextOffsetChange(afterMs, timezone);
  if (changeMs === undefined) {
    return plainWallMs === undefined ? undefined : plainWallMs - offsetMs;
  }
  if (plainWallMs !== undefined && plainWallMs - offsetMs < changeMs) {
    return plainWallMs - offsetMs;
  }
  // Behind the change the clock may read less than before it.
  let wallMs = cron.wallFrom(changeMs + offsetMsAt(changeMs, timezone));
  for (let tries = 0; tries < MAX_CHANGES && wallMs !== undefined; tries++) {
    const reading = readWall(wallMs, timezone);
    switch (reading.kind) {
      case "single":
        return reading.atMs;
      case "overlap":
        return reading.atMs >= changeMs ? reading.atMs : reading.secondMs;
      case "gap":
        wallMs = cron.wallFrom(
          reading.endMs + offsetMsAt(reading.endMs, timezone),
        );
    }
  }
  return undefined;
}

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
    count += cron.countWalls(fromWallMs, oldWallMs);
    if (cron.isFixedTime && firesAtGapEndOnly(cron, oldWallMs, newWallMs)) {
      count++;
    }
    // Fixed times have fired on the first pass of an hour that is repeated.
    fromWallMs = cron.isFixedTime ? Math.max(oldWallMs, newWallMs) : newWallMs;
    atMs = changeMs;
  }
  return count + cron.countWalls(fromWallMs, span.throughMs + offsetMs + 1);
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
  return cron.countWalls(startWallMs, endWallMs) > 0 &&
    cron.countWalls(endWallMs, endWallMs + 1) === 0;
}

/** Wall time and elapsed time differ by less, also when clocks are set. */
const MARGIN_MS = 2 * DAY_MS;

/**
 * The last occurrence of a span, by the same rules for clock changes as all
 * others; undefined when it has none.
 */
export function lastCron(
  cron: CronExpression,
  { afterMs, throughMs }: Span,
  timezone: string,
): number | undefined {
  const fromDay = Math.floor((afterMs - MARGIN_MS) / DAY_MS);
  let endMs = throughMs;
  while (endMs > afterMs) {
    const offsetMs = offsetMsAt(endMs, timezone);
    const changeMs = lastOffsetChange(endMs, timezone) ?? -Infinity;
    const wallMs = cron.lastWall(endMs + offsetMs, fromDay);
    if (wallMs === undefined) return undefined;
    const newWallMs = changeMs + offsetMs;
    const oldWallMs = changeMs === -Infinity
      ? changeMs
      : changeMs + offsetMsAt(changeMs - 1, timezone);
    // Fixed times have fired on the first pass of an hour that is repeated.
    const firstWallMs = cron.isFixedTime
      ? Math.max(oldWallMs, newWallMs)
      : newWallMs;
    let atMs: number | undefined;
    if (wallMs >= firstWallMs) atMs = wallMs - offsetMs;
    else if (cron.isFixedTime && cron.countWalls(oldWallMs, newWallMs) > 0) {
      atMs = changeMs;
    }
    if (atMs !== undefined) return atMs > afterMs ? atMs : undefined;
    // Nothing matches between there and here, whatever the clock did.
    endMs = Math.min(changeMs - 1, wallMs - offsetMs + MARGIN_MS);
  }
  return undefined;
}
