/**
 * Previews the next times of a schedule, with warnings about unusual ones. It
 * calls the same functions as the scheduler, so the two cannot disagree.
 *
 * @module
 */

import { catchUp } from "./catch_up.ts";
import { isGapEnd, isOverlapOnce, type Span } from "./cron_schedule.ts";
import {
  countOccurrences,
  createClosures,
  findOccurrence,
  type Grid,
  intervalAfter,
  nextOccurrence,
  type Schedule,
  type Timing,
} from "./schedule.ts";
import { formatOffset, formatWall } from "./time_zone.ts";
import { type LatenessRule, toLateness } from "./transitions/repetition.ts";

/**
 * A warning about an occurrence: the clock skips the intended time, so it was
 * moved; the clock shows the time twice, and it runs once; the month lacks the
 * intended day, so its last day was taken; the time has passed and the limits
 * of catching up leave it out, so it does not run.
 */
export type OccurrenceWarning = typeof OCCURRENCE_WARNINGS[number];

/** All warnings that an occurrence may have. */
export const OCCURRENCE_WARNINGS = [
  "gap_moved",
  "overlap_once",
  "month_short",
  "missed_by_limit",
] as const;

/** An occurrence of a schedule. */
export interface PreviewedOccurrence {
  /** The instant of the occurrence, in milliseconds since the epoch. */
  readonly atMs: number;
  /**
   * The wall time of the occurrence in the zone, as ISO 8601 text without
   * offset.
   */
  readonly local: string;
  /** The zone's offset at the occurrence, such as `+02:00`. */
  readonly offset: string;
  /** What is unusual about the occurrence. */
  readonly warnings: readonly OccurrenceWarning[];
}

/** Options of {@linkcode preview}. */
interface PreviewOptions extends Grid {
  /** The first instant of the preview; earlier occurrences are left out. */
  readonly fromMs: number;
  /** How many times are wanted, at most {@linkcode MAX_PREVIEW}. */
  readonly count: number;
  /**
   * How slots that have passed are caught up.
   *
   * @default each of them runs
   */
  readonly catchUp?: PreviewCatchUp | undefined;
}

/** How slots that have passed are treated. */
interface PreviewCatchUp {
  /** The present. */
  readonly nowMs: number;
  /** The rule that decides which of the passed slots run. */
  readonly rule: LatenessRule;
}

/** The most occurrences of a preview. */
export const MAX_PREVIEW = 1_000;

/**
 * Returns the next times of a schedule, including those that are missed; fewer
 * than `count` when the schedule ends before.
 */
export function preview(
  schedule: Schedule,
  options: PreviewOptions,
): readonly PreviewedOccurrence[] {
  const count = Math.min(options.count, MAX_PREVIEW);
  const firstRunMs = findFirstRun(schedule, options);
  let runs = runsBefore(schedule, options, firstRunMs);
  const occurrences: PreviewedOccurrence[] = [];
  let afterMs = options.fromMs - 1;
  while (occurrences.length < count) {
    const atMs = nextOccurrence(schedule, { ...options, runs, afterMs });
    if (atMs === undefined) break;
    const isMissed = atMs < firstRunMs;
    const warnings = findWarnings(schedule.timing, atMs, options);
    occurrences.push({
      atMs,
      local: formatWall(atMs, options.timezone),
      offset: formatOffset(atMs, options.timezone),
      warnings: isMissed ? [...warnings, "missed_by_limit"] : warnings,
    });
    if (!isMissed) runs++;
    afterMs = atMs;
  }
  return occurrences;
}

/** Most times of a preview that are told to be left out. */
export const MAX_EXCLUDED_SHOWN = 100;

/** A time at which a schedule has no slot, since the time is closed. */
export interface ExcludedOccurrence
  extends Omit<PreviewedOccurrence, "warnings"> {
  /** The name of the calendar; undefined for a date of the schedule itself. */
  readonly calendar: string | undefined;
}

/**
 * Returns the first times of a span, at most {@linkcode MAX_EXCLUDED_SHOWN},
 * that a schedule would have but for its closed times.
 */
export function excludedIn(
  { timing }: Pick<Schedule, "timing">,
  span: Span,
  grid: Grid,
): readonly ExcludedOccurrence[] {
  const afterMs = Math.max(span.afterMs, grid.anchorMs - 1);
  const found = createClosures(timing, grid)
    ?.closedIn({ ...span, afterMs }, {
      limit: MAX_EXCLUDED_SHOWN,
      find: (afterMs) => findOccurrence(timing, afterMs, grid),
    });
  return (found ?? []).map(({ atMs, calendar }) => ({
    atMs,
    local: formatWall(atMs, grid.timezone),
    offset: formatOffset(atMs, grid.timezone),
    calendar,
  }));
}

/** The first slot that runs; all earlier ones are missed. */
function findFirstRun(schedule: Schedule, options: PreviewOptions): number {
  const { anchorMs, timezone } = options;
  const grid: Grid = { anchorMs, timezone };
  if (options.catchUp === undefined) return -Infinity;
  const { nowMs, rule } = options.catchUp;
  const afterMs = anchorMs - 1;
  const scheduledMs = nextOccurrence(schedule, { ...grid, afterMs });
  if (scheduledMs === undefined || scheduledMs > nowMs) return -Infinity;
  const { runs: [firstMs], nextMs } = catchUp(schedule, {
    ...grid,
    scheduledMs,
    isPending: true,
    nowMs,
    ...toLateness(rule),
    limit: 1,
  });
  return firstMs ?? nextMs ?? Infinity;
}

/** How many slots run before the first instant of the preview. */
function runsBefore(
  schedule: Schedule,
  options: PreviewOptions,
  firstRunMs: number,
): number {
  const { anchorMs, fromMs } = options;
  const afterMs = Math.max(anchorMs, firstRunMs) - 1;
  // Without a limit the number of runs does not matter.
  if (schedule.limit === undefined || fromMs - 1 <= afterMs) return 0;
  const span = { afterMs, throughMs: fromMs - 1 };
  return countOccurrences(schedule.timing, span, options);
}

function findWarnings(
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
