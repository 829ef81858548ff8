/**
 * When a repeating task is due: the occurrences of its timing within the bounds
 * of the schedule.
 *
 * @module
 */

import type { Grid } from "./interval_schedule.ts";
import { occurrenceAfter, type Timing } from "./timing.ts";

/** A timing with its bounds. */
export interface Schedule {
  /** What makes the task repeat. */
  readonly timing: Timing;
  /** The last instant at which a run may be due; no end when absent. */
  readonly untilMs?: number;
  /** Most runs after the first one; no bound when absent. */
  readonly limit?: number;
}

/** The circumstances in which a schedule is asked. */
export interface ScheduleFrame extends Grid {
  /**
   * Runs that the task has had, the first among them. Slots that were passed
   * over are no runs.
   *
   * @default {0}
   */
  readonly runs?: number;
}

/** Options of {@linkcode nextOccurrence}. */
export interface NextOccurrenceOptions extends ScheduleFrame {
  /** The instant after which the occurrence is looked for. */
  readonly afterMs: number;
}

/**
 * The next time the task is due, in milliseconds since the epoch; undefined when
 * its limit or its end is reached, or when nothing matches any more. An interval
 * is due at the anchor first, a cron expression where it matches at the anchor
 * or after it.
 */
export function nextOccurrence(
  schedule: Schedule,
  options: NextOccurrenceOptions,
): number | undefined {
  if (runsLeft(schedule, options) <= 0) return undefined;
  const atMs = occurrenceAfter(schedule.timing, options.afterMs, options);
  if (atMs === undefined) return undefined;
  return atMs <= (schedule.untilMs ?? Infinity) ? atMs : undefined;
}

/** How many runs the schedule still allows; infinite when it has no limit. */
export function runsLeft(
  schedule: Schedule,
  frame: Pick<ScheduleFrame, "runs">,
): number {
  return (schedule.limit ?? Infinity) + 1 - (frame.runs ?? 0);
}
