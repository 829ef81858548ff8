/**
 * The next dates of a task that repeats.
 *
 * @module
 */

import { type RuleCache, rulesOf } from "../../../domain/rules.ts";
import { nextOccurrence } from "../../../domain/schedule.ts";
import type { Task } from "../../../domain/task.ts";
import { isFinal } from "../../../domain/task_status.ts";
import { gridOf, runsHad } from "../../../domain/transitions/repetition.ts";

/** How many dates are told. */
const COUNT = 3;

/** Rules of no worker; a schedule depends on none. */
const NO_WORKER = { timeoutMs: 0, maxLost: 0 };

/** What the dates are found by. */
export interface NextDatesOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Where schedules are kept as read. */
  readonly cache: RuleCache;
}

/**
 * The dates ahead of a task, at most three: the one it waits for, chance's delay
 * included, then the slots of its schedule. None of a task that does not repeat
 * or has ended.
 */
export function nextDates(
  task: Task,
  { nowMs, cache }: NextDatesOptions,
): readonly number[] {
  if (task.repeat === undefined || isFinal(task.status)) return [];
  const { schedule } = rulesOf(task, NO_WORKER, { cache });
  if (schedule === undefined) return [];
  const isAhead = task.dateMs > nowMs && task.status !== "retry" &&
    task.status !== "running";
  const dates = isAhead ? [task.dateMs] : [];
  const grid = gridOf(task);
  let afterMs = isAhead ? task.slotMs : Math.max(task.slotMs, nowMs);
  // The run that is due or waited for counts as had.
  let runs = runsHad(task) + 1;
  while (dates.length < COUNT) {
    const atMs = nextOccurrence(schedule, { ...grid, afterMs, runs });
    if (atMs === undefined) break;
    dates.push(atMs);
    afterMs = atMs;
    runs++;
  }
  return dates;
}
