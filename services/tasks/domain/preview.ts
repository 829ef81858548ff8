/**
 * The next times of a schedule with what is odd about them. It asks the same
 * functions as the scheduler does, so the two cannot disagree.
 *
 * @module
 */

import { isGapEnd, isOverlapOnce } from "./cron_schedule.ts";
import { type Grid, intervalAfter } from "./interval_schedule.ts";
import {
  nextOccurrence,
  runsLeft,
  type Schedule,
  type ScheduleFrame,
} from "./schedule.ts";
import { formatOffset, formatWall } from "./time_zone.ts";
import type { Timing } from "./timing.ts";

/**
 * What is odd about an occurrence: the clock skips the time that was meant, so
 * it was moved; the clock shows it twice, and it runs once; the month lacks the
 * day that was meant, so its last day was taken.
 */
export type OccurrenceWarning = "gap_moved" | "overlap_once" | "month_short";

/** One time of a schedule. */
export interface PreviewedOccurrence {
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What the zone's clock shows then, as ISO 8601 text without offset. */
  readonly local: string;
  /** The zone's offset then, such as `+02:00`. */
  readonly offset: string;
  /** What is odd about it. */
  readonly warnings: readonly OccurrenceWarning[];
}

/** Options of {@linkcode preview}. */
export interface PreviewOptions extends ScheduleFrame {
  /** The first instant that counts. */
  readonly fromMs: number;
  /** How many times are wanted, at most {@linkcode MAX_PREVIEW}. */
  readonly count: number;
}

/** Most times of one preview. */
export const MAX_PREVIEW = 1_000;

/** Returns the next times of a schedule; fewer when it ends before. */
export function preview(
  schedule: Schedule,
  options: PreviewOptions,
): readonly PreviewedOccurrence[] {
  const count = Math.min(
    options.count,
    MAX_PREVIEW,
    runsLeft(schedule, options),
  );
  const occurrences: PreviewedOccurrence[] = [];
  let afterMs = options.fromMs - 1;
  while (occurrences.length < count) {
    const atMs = nextOccurrence(schedule, { ...options, afterMs });
    if (atMs === undefined) break;
    occurrences.push({
      atMs,
      local: formatWall(atMs, options.timezone),
      offset: formatOffset(atMs, options.timezone),
      warnings: warningsOf(schedule.timing, atMs, options),
    });
    afterMs = atMs;
  }
  return occurrences;
}

function warningsOf(
  timing: Timing,
  atMs: number,
  grid: Grid,
): readonly OccurrenceWarning[] {
  const warnings: OccurrenceWarning[] = [];
  if (timing.kind === "cron") {
    const { cron } = timing;
    if (isGapEnd(cron, atMs, grid.timezone)) warnings.push("gap_moved");
    if (isOverlapOnce(cron, atMs, grid.timezone)) warnings.push("overlap_once");
    return warnings;
  }
  const occurrence = intervalAfter(timing.every, atMs - 1, grid);
  if (occurrence.isGapMoved) warnings.push("gap_moved");
  if (occurrence.isOverlap) warnings.push("overlap_once");
  if (occurrence.isMonthShort) warnings.push("month_short");
  return warnings;
}
