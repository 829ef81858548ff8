/**
 * The next times of a schedule with what is odd about them, and the next dates
 * of a task. Both ask the same functions as the scheduler, so they cannot disagree.
 *
 * @module
 */

import { catchUp, type CatchUpMode } from "./catch_up.ts";
import { isGapEnd, isOverlapOnce } from "./cron_schedule.ts";
import { type Grid, intervalAfter } from "./interval_schedule.ts";
import {
  countOccurrences,
  nextOccurrence,
  type Schedule,
  type ScheduleFrame,
  type Timing,
} from "./schedule.ts";
import { formatOffset, formatWall } from "./time_zone.ts";
import {
  finishedRuns,
  forSlot,
  gridOf,
  ON_TIME_MS,
  pendingSlot,
  type Repetition,
  repetitionOf,
  slotAfterRun,
} from "./transitions/repetition.ts";
import { type RuleCache, rulesOf } from "./rules.ts";
import { isFinal, type Task } from "./task.ts";
import { patched } from "./transitions/step.ts";

/**
 * What is odd about an occurrence: the clock skips the time that was meant, so
 * it was moved; the clock shows it twice, and it runs once; the month lacks the
 * day that was meant, so its last day was taken; it has passed and the limits of
 * catching up leave it out, so it does not run.
 */
export type OccurrenceWarning = typeof OCCURRENCE_WARNINGS[number];

/** All that may be odd about an occurrence. */
export const OCCURRENCE_WARNINGS = [
  "gap_moved",
  "overlap_once",
  "month_short",
  "missed_by_limit",
] as const;

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
interface PreviewOptions extends ScheduleFrame {
  /**
   * Runs that the task has had before the first instant that counts.
   *
   * @default the slots from the anchor on that are not missed
   */
  readonly runs?: number | undefined;
  /** The first instant that counts. */
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

/** What becomes of slots that have passed. */
interface PreviewCatchUp {
  /** The present. */
  readonly nowMs: number;
  /** Which of them run. */
  readonly mode: CatchUpMode;
  /** How old a slot may be to be run in the mode "all". */
  readonly windowMs: number;
}

/** Most times of one preview. */
export const MAX_PREVIEW = 1_000;

/**
 * Returns the next times of a schedule, those that are missed among them; fewer
 * when it ends before.
 */
export function preview(
  schedule: Schedule,
  options: PreviewOptions,
): readonly PreviewedOccurrence[] {
  const count = Math.min(options.count, MAX_PREVIEW);
  const firstRunMs = firstRunOf(schedule, options);
  let runs = options.runs ?? runsBefore(schedule, options, firstRunMs);
  const occurrences: PreviewedOccurrence[] = [];
  let afterMs = options.fromMs - 1;
  while (occurrences.length < count) {
    const atMs = nextOccurrence(schedule, { ...options, runs, afterMs });
    if (atMs === undefined) break;
    const isMissed = atMs < firstRunMs;
    const warnings = warningsOf(schedule.timing, atMs, options);
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

/** The first slot that runs; the ones before it are missed. */
function firstRunOf(schedule: Schedule, options: PreviewOptions): number {
  const { anchorMs, timezone, catchUp: rule } = options;
  const grid: Grid = { anchorMs, timezone };
  if (rule === undefined) return -Infinity;
  const { nowMs, mode, windowMs } = rule;
  const afterMs = anchorMs - 1;
  const scheduledMs = nextOccurrence(schedule, { ...grid, afterMs });
  if (scheduledMs === undefined || scheduledMs > nowMs) return -Infinity;
  const { runs: [firstMs], nextMs } = catchUp(schedule, {
    ...grid,
    scheduledMs,
    isPending: true,
    nowMs,
    mode,
    windowMs,
    graceMs: ON_TIME_MS,
    limit: 1,
  });
  return firstMs ?? nextMs ?? Infinity;
}

/** How many slots run before the first instant that counts. */
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

/** How many dates are told. */
const COUNT = 3;

/** Rules of no worker; a schedule depends on none. */
const NO_WORKER = { timeoutMs: 0, maxLost: 0 };

/** What the dates are found by. */
interface NextDatesOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Where schedules are kept as read. */
  readonly cache: RuleCache;
}

/**
 * The dates ahead of a task, at most three: the one it waits for, chance's delay
 * included, then the slots of its schedule that it will run for, if each run
 * ends at once. None of a task that does not repeat or has ended.
 */
export function nextDates(
  task: Task,
  { nowMs, cache }: NextDatesOptions,
): readonly number[] {
  if (task.repeat === undefined || isFinal(task.status)) return [];
  const repetition = repetitionOf(task, rulesOf(task, NO_WORKER, { cache }));
  if (repetition === undefined) return [];
  const isAhead = task.dateMs > nowMs && task.status !== "retry" &&
    task.status !== "running";
  const dates = isAhead ? [task.dateMs] : [];
  const atMs = isAhead ? task.dateMs : nowMs;
  const next = afterComingRun(task, repetition, atMs);
  if (next.slotMs === undefined) return dates;
  const { schedule, rule } = repetition;
  const grid = gridOf(task);
  const dateMs = next.dateMs ?? next.slotMs;
  if (dateMs > atMs) dates.push(dateMs);
  const reachedMs = Math.max(atMs, dateMs);
  // Slots that have passed by then take from the limit before those ahead do.
  let runs = next.runs +
    (rule.catchUp === "all" && schedule.limit !== undefined
      ? countOccurrences(schedule.timing, {
        afterMs: next.slotMs - 1,
        throughMs: Math.min(reachedMs, schedule.untilMs ?? Infinity),
      }, grid)
      : 1);
  let afterMs = Math.max(next.slotMs, reachedMs);
  while (dates.length < COUNT) {
    const slotMs = nextOccurrence(schedule, { ...grid, afterMs, runs });
    if (slotMs === undefined) break;
    dates.push(slotMs);
    afterMs = slotMs;
    runs++;
  }
  return dates;
}

/** The slot that follows the run that is waited for or under way. */
interface Follower {
  /** The slot; undefined when there is none. */
  readonly slotMs: number | undefined;
  /** When that is, if it was settled before. */
  readonly dateMs?: number | undefined;
  /** Runs that count and come before it. */
  readonly runs: number;
}

/** What follows the run that is waited for or under way, if it ends at an instant. */
function afterComingRun(
  task: Task,
  repetition: Repetition,
  atMs: number,
): Follower {
  // What is due has its slot, but for one that does for those passed since, too.
  const { slotMs: pendingMs, isRun } =
    task.isDue && repetition.rule.catchUp !== "one"
      ? { slotMs: task.slotMs, isRun: true }
      : pendingSlot(task, repetition, atMs);
  if (!isRun || pendingMs === undefined) {
    return { runs: finishedRuns(task), slotMs: pendingMs };
  }
  const run = pendingMs === task.slotMs
    ? task
    : patched(task, forSlot(task, pendingMs));
  const { repetitions, slotMs, dateMs } = slotAfterRun(run, repetition, atMs);
  return { slotMs, dateMs, runs: repetitions + 1 };
}
