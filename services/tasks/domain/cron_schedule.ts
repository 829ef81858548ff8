/**
 * Finds the occurrences of a cron expression in a time zone. The rules for
 * clock changes are:
 *
 * - Fixed times (no `*`, `?` or step in second, minute and hour): a time that
 *   the clock skips fires at the first instant after the gap, a time that it
 *   shows twice fires the first time only. Times that fall on the same instant
 *   fire once.
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
import { DAY_MS } from "../../shared/duration.ts";

/** A span of time between two clock changes of a zone. */
interface Stretch {
  /**
   * The first instant of the span; -Infinity when no clock change comes before
   * it.
   */
  readonly startMs: number;
  /** The instant after the span; Infinity when no clock change follows. */
  readonly endMs: number;
  /** The offset of the zone from UTC in the span, in milliseconds. */
  readonly offsetMs: number;
  /** The earliest wall time at which a match fires in the span. */
  readonly firstWallMs: number;
  /**
   * Whether the clock skipped a match just before the span. The match then
   * fires at the span's first instant.
   */
  readonly hasSkipped: boolean;
}

/** @param startMs the start of the span, if it is known or does not matter */
function stretchAt(
  cron: CronExpression,
  atMs: number,
  timezone: string,
  startMs: number = lastOffsetChange(atMs, timezone) ?? -Infinity,
): Stretch {
  const offsetMs = offsetMsAt(atMs, timezone);
  const endMs = nextOffsetChange(atMs, timezone) ?? Infinity;
  const newWallMs = startMs + offsetMs;
  const stretch = { startMs, endMs, offsetMs };
  if (!cron.isFixedTime || startMs === -Infinity) {
    return { ...stretch, firstWallMs: newWallMs, hasSkipped: false };
  }
  const oldWallMs = startMs + offsetMsAt(startMs - 1, timezone);
  return {
    ...stretch,
    // Fixed times have already fired on the first pass of a repeated hour.
    firstWallMs: Math.max(oldWallMs, newWallMs),
    hasSkipped: cron.countWalls(oldWallMs, newWallMs) > 0,
  };
}

/**
 * The number of clock changes that a search passes before it gives up. An
 * interval that always falls into a gap of its zone, such as every minute of a
 * skipped hour, never fires at all.
 */
const MAX_CHANGES = 100;

/**
 * An upper bound on how far wall time and elapsed time can drift apart, even
 * when clocks are set.
 */
const MARGIN_MS = 2 * DAY_MS;

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
  let fromMs = afterMs + 1;
  // Only fixed times depend on the clock change before `fromMs`.
  let isStart = !cron.isFixedTime;
  for (let tries = 0; tries < MAX_CHANGES; tries++) {
    const stretch = stretchAt(
      cron,
      fromMs,
      timezone,
      isStart ? fromMs : undefined,
    );
    const { startMs, endMs, offsetMs, firstWallMs } = stretch;
    if (stretch.hasSkipped && startMs >= fromMs) return startMs;
    const wallMs = cron.wallFrom(Math.max(firstWallMs, fromMs + offsetMs));
    if (wallMs === undefined) return undefined;
    const atMs = wallMs - offsetMs;
    if (atMs < endMs) return atMs;
    // Between the end of the span and the match found, nothing else matches
    // except in a repeated hour, and the first search may have begun in the
    // middle of one.
    fromMs = tries === 0 ? endMs : Math.max(endMs, atMs - MARGIN_MS);
    isStart = !cron.isFixedTime || fromMs === endMs;
  }
  return undefined;
}

/**
 * Tells whether the occurrence at `atMs` is a fixed time that the clock
 * skipped, which fires at the end of the gap.
 */
export function isGapEnd(
  cron: CronExpression,
  atMs: number,
  timezone: string,
): boolean {
  const { startMs, hasSkipped } = stretchAt(cron, atMs, timezone);
  return hasSkipped && startMs === atMs;
}

/**
 * Tells whether the occurrence at `atMs` is a fixed time that the clock shows
 * twice and that fires only once.
 */
export function isOverlapOnce(
  cron: CronExpression,
  atMs: number,
  timezone: string,
): boolean {
  if (!cron.isFixedTime) return false;
  const wallMs = atMs + offsetMsAt(atMs, timezone);
  return readWall(wallMs, timezone).kind === "overlap";
}

/** The calendar repeats after 400 years, with its days of the week. */
const CYCLE_MS = 146_097 * DAY_MS;

/** A span of time that excludes its beginning and includes its end. */
export interface Span {
  /** The instant before the span, in milliseconds since the epoch. */
  readonly afterMs: number;
  /** The last instant of the span. */
  readonly throughMs: number;
}

/**
 * Counts the occurrences of a cron expression in a span, with the same rules
 * for clock changes. In a span longer than 400 years, only the beginning and
 * the last 400 years are counted, and those stand for the cycles before them:
 * clock changes repeat with the calendar, as long as their rules stay.
 */
export function countCron(
  cron: CronExpression,
  { afterMs, throughMs }: Span,
  timezone: string,
): number {
  const lastMs = Math.min(throughMs, cron.endWallMs + MARGIN_MS);
  const cycles = Math.max(0, Math.ceil((lastMs - afterMs) / CYCLE_MS) - 1);
  const rest = { afterMs, throughMs: lastMs - cycles * CYCLE_MS };
  const count = countSpan(cron, rest, timezone);
  if (cycles === 0) return count;
  const last = { afterMs: lastMs - CYCLE_MS, throughMs: lastMs };
  return count + cycles * countSpan(cron, last, timezone);
}

function countSpan(
  cron: CronExpression,
  { afterMs, throughMs }: Span,
  timezone: string,
): number {
  let fromMs = afterMs + 1;
  let knownStartMs = cron.isFixedTime ? undefined : fromMs;
  let count = 0;
  while (fromMs <= throughMs) {
    const stretch = stretchAt(cron, fromMs, timezone, knownStartMs);
    const { startMs, endMs, offsetMs, firstWallMs } = stretch;
    const wallMs = Math.max(firstWallMs, fromMs + offsetMs);
    count += cron.countWalls(
      wallMs,
      Math.min(endMs, throughMs + 1) + offsetMs,
    );
    // Fixed times that fall on the same instant fire once.
    if (stretch.hasSkipped && startMs === fromMs) {
      count += 1 - cron.countWalls(wallMs, wallMs + 1);
    }
    fromMs = knownStartMs = endMs;
  }
  return count;
}

/**
 * The last occurrence in a span, with the same rules for clock changes;
 * undefined when the span has no occurrence.
 */
export function lastCron(
  cron: CronExpression,
  { afterMs, throughMs }: Span,
  timezone: string,
): number | undefined {
  const fromDay = Math.floor((afterMs - MARGIN_MS) / DAY_MS);
  let endMs = throughMs;
  while (endMs > afterMs) {
    const stretch = stretchAt(cron, endMs, timezone);
    const { startMs, offsetMs, firstWallMs } = stretch;
    const wallMs = cron.lastWall(endMs + offsetMs, fromDay);
    if (wallMs === undefined) return undefined;
    const isIn = wallMs >= firstWallMs;
    if (isIn || stretch.hasSkipped) {
      const atMs = isIn ? wallMs - offsetMs : startMs;
      return atMs > afterMs ? atMs : undefined;
    }
    // Between the match found and the end of the span nothing else matches,
    // whatever the clock did.
    endMs = Math.min(startMs - 1, wallMs - offsetMs + MARGIN_MS);
  }
  return undefined;
}
