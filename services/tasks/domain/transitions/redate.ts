/**
 * What a new date or a new schedule does to when a task runs.
 *
 * - A new date before the first run is the task's first date: the schedule's
 *   grid begins there. Later it moves the coming run alone, and the grid stays.
 * - A new schedule counts as if it had been there from the first date on: the
 *   coming run is at its first slot from now on, or from the slot on that is
 *   still to be run. What is due already stays due.
 * - Both together begin a new grid at the date.
 * - A run that was tried before keeps its slot in any case.
 *
 * @module
 */

import { nextOccurrence } from "../schedule.ts";
import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import type { TaskStatus } from "../task_status.ts";
import { preceded, settleDate } from "./due.ts";
import { endSchedule } from "./ending.ts";
import {
  dateOfSlot,
  gridOf,
  isSpawning,
  type Repetition,
  repetitionOf,
  runsHad,
} from "./repetition.ts";
import { type Note, patched, type Step } from "./step.ts";

/** Moves a live task that is not running to a date. */
export function moveTo(
  task: Task,
  { dateMs, isNewSchedule }: {
    /** The date. */
    readonly dateMs: number;
    /** Whether its schedule is a new one. */
    readonly isNewSchedule: boolean;
  },
  context: EventContext,
): Step {
  const { run, firstTriedAtMs } = task;
  const isAnchored = firstTriedAtMs === undefined &&
    (run === 0 || isNewSchedule);
  if (!isAnchored) {
    const isPlain = task.repeat === undefined;
    const moved = patched(task, {
      dateMs,
      ...(isPlain ? { slotMs: dateMs } : {}),
    });
    return settled(moved, context);
  }
  const repetition = repetitionOf(task, context.rules);
  const anchored = patched(task, { firstDateMs: dateMs });
  const slotMs = repetition === undefined
    ? dateMs
    : firstSlot(anchored, repetition);
  if (slotMs === undefined) return endSchedule(anchored, context);
  return settled(patched(anchored, { slotMs, dateMs: slotMs }), context);
}

/** Puts a live task that is not running where its new schedule says. */
export function applySchedule(task: Task, context: EventContext): Step {
  if (task.firstTriedAtMs !== undefined) return { task, notes: [] };
  const repetition = repetitionOf(task, context.rules);
  const status = statusBehindPause(task);
  if (repetition === undefined) {
    return status === "done" ? endSchedule(task, context) : { task, notes: [] };
  }
  if (!task.isDue && status !== "waiting") {
    return dateNext(task, repetition, context);
  }
  return isSpawning(task) ? settledQuietly(task, context) : { task, notes: [] };
}

/**
 * The first slot of a schedule that begins at the task's first date: for an
 * interval that date itself, for a cron expression where it matches from then on.
 */
export function firstSlot(
  task: Task,
  { schedule }: Repetition,
): number | undefined {
  const grid = gridOf(task);
  return nextOccurrence(schedule, { ...grid, afterMs: grid.anchorMs - 1 });
}

function dateNext(
  task: Task,
  { rule, schedule }: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  // A slot of this very instant may have been run already, unless none has been.
  const afterMs = task.run === 0 ? nowMs - 1 : nowMs;
  const slotMs = nextOccurrence(schedule, {
    ...gridOf(task),
    afterMs: Math.min(afterMs, task.slotMs - 1),
    runs: runsHad(task),
  });
  if (slotMs === undefined) return endSchedule(task, context);
  if (slotMs === task.slotMs) return settledQuietly(task, context);
  const dateMs = dateOfSlot(slotMs, rule, context);
  return settled(patched(task, { slotMs, dateMs }), context);
}

/** With its new date; blocked and paused tasks come to it later. */
function settled(task: Task, context: EventContext): Step {
  const note: Note = { type: "moved", nextDateMs: task.dateMs };
  return preceded([note], settledQuietly(task, context));
}

function settledQuietly(task: Task, context: EventContext): Step {
  return task.status === "paused" || task.status === "blocked"
    ? { task, notes: [] }
    : settleDate(task, context);
}

function statusBehindPause({ status, pausedFrom }: Task): TaskStatus {
  return status === "paused" ? pausedFrom ?? "scheduled" : status;
}
