/**
 * Handles a change of a task: what a new definition, date or schedule does to
 * its next run.
 *
 * - A new date before the first run becomes the task's first date, at which the
 *   schedule's grid begins. A later new date only moves the coming run, and the
 *   grid stays.
 * - A new schedule has the grid that it would have had from the first date on:
 *   the coming run is at its first slot from now on, or from the slot that is
 *   still to be run. A due task stays due. The schedule's other slots up to now
 *   were never planned, so none of them is caught up or missed.
 * - A new date together with a new schedule begins a new grid at the date.
 * - A run that was tried before keeps its slot in any case.
 *
 * @module
 */

import { keptUntilMs } from "../retention.ts";
import { nextOccurrence, runsLeft } from "../schedule.ts";
import {
  isFinal,
  movedCalls,
  pickDefinition,
  type RepeatRule,
  type Task,
  type TaskDefinition,
  type TaskStatus,
} from "../task.ts";
import {
  type EventContext,
  type EventOf,
  type Note,
  type Outcome,
  patched,
  preceded,
  type Step,
  wrongState,
} from "../task_event.ts";
import { endSchedule, settleDate } from "./due.ts";
import { findRepetition } from "../rules.ts";
import {
  dateOfSlot,
  finishedRuns,
  forSlot,
  isSpawning,
  type Repetition,
  repetitionsAfterRun,
  toGrid,
} from "./repetition.ts";
import { reopen } from "./owner_events.ts";

/**
 * What changed in a schedule: nothing, its limits and its mode ("bounds"), or
 * the times of its slots ("timing").
 */
type ScheduleChange = "none" | "bounds" | "timing";

/** Moves a live task that is not running to another date. */
function moveTo(
  task: Task,
  { dateMs, change }: {
    /** The new date. */
    readonly dateMs: number;
    /** What changes in the task's schedule at the same time. */
    readonly change: ScheduleChange;
  },
  context: EventContext,
): Step {
  const isAnchored = task.firstTriedAtMs === undefined &&
    (task.run === 0 || change !== "none");
  if (!isAnchored) {
    const slotMs = task.repeat === undefined ? dateMs : task.slotMs;
    const left = fromNowOn(task, change, context);
    return settled(patched(left, { dateMs, slotMs }), context);
  }
  const repetition = findRepetition(task, context.rules);
  const anchored = patched(task, { firstDateMs: dateMs });
  const slotMs = repetition === undefined
    ? dateMs
    : firstSlot(anchored, repetition);
  if (slotMs === undefined) return endSchedule(anchored, context);
  const moved = { ...forSlot(task, slotMs), dateMs: slotMs };
  return settled(patched(anchored, moved), context);
}

/**
 * Moves a live task that is not running to the date that its new schedule gives
 * it.
 */
function applySchedule(
  task: Task,
  change: ScheduleChange,
  context: EventContext,
): Step {
  const left = fromNowOn(task, change, context);
  if (task.firstTriedAtMs !== undefined) return { task: left, notes: [] };
  const repetition = findRepetition(task, context.rules);
  const status = statusBehindPause(task);
  if (repetition === undefined) {
    return status === "done"
      ? endSchedule(task, context)
      : { task: left, notes: [] };
  }
  if (!task.isDue && status !== "waiting") {
    return dateNext(task, { repetition, change }, context);
  }
  return isSpawning(task)
    ? settledQuietly(patched(left, { held: undefined }), context)
    : { task: left, notes: [] };
}

/**
 * Returns a task with a changed schedule whose current run stays as it is. A
 * slot held during the run is replaced by one of the new schedule, and slots at
 * other times than before are searched from now on.
 */
function fromNowOn(
  task: Task,
  change: ScheduleChange,
  context: EventContext,
): Task {
  const { nowMs } = context;
  const { held } = task;
  if (change === "none") return task;
  const repetition = findRepetition(task, context.rules);
  if (repetition === undefined) {
    return patched(task, { held: undefined, scheduleSinceMs: undefined });
  }
  const { rule, schedule } = repetition;
  const isMoved = change === "timing";
  const scheduleSinceMs = isMoved ? nowMs : task.scheduleSinceMs;
  if (held === undefined) return patched(task, { scheduleSinceMs });
  const slotMs = nextOccurrence(schedule, {
    ...toGrid(task),
    afterMs: isMoved ? Math.min(nowMs, held.slotMs - 1) : held.slotMs - 1,
    runs: repetitionsAfterRun(task, schedule) + 1,
  });
  if (slotMs === undefined) return patched(task, { held: undefined });
  return patched(task, {
    held: slotMs === held.slotMs
      ? held
      : { slotMs, dateMs: dateOfSlot(slotMs, rule, context) },
    // A slot in the future needs no such bound: the slots before it were never
    // planned.
    scheduleSinceMs: slotMs <= nowMs ? scheduleSinceMs : task.scheduleSinceMs,
  });
}

/**
 * Finds the coming slot of a task again whose calendar has changed. What is due,
 * or was tried before, keeps its slot.
 */
export function calendarChanged(
  task: Task,
  _event: EventOf<"calendar_changed">,
  context: EventContext,
): Outcome {
  const { status, held, isDue, firstTriedAtMs } = task;
  if (isFinal(status) || task.repeat?.calendars === undefined) return undefined;
  const repetition = findRepetition(task, context.rules);
  if (repetition === undefined) return undefined;
  const isFixed = status === "running" || isDue ||
    firstTriedAtMs !== undefined || statusBehindPause(task) === "waiting";
  const step: Step = isFixed
    ? { task: fromNowOn(task, "timing", context), notes: [] }
    : dateNext(task, { repetition, change: "timing" }, context);
  const isSame = step.task.slotMs === task.slotMs &&
    step.task.held?.slotMs === held?.slotMs;
  return isSame ? undefined : step;
}

/**
 * The first slot of a schedule that begins at the task's first date: for an
 * interval that date itself, for a cron expression its first match from there
 * on.
 */
export function firstSlot(
  task: Task,
  { schedule }: Repetition,
): number | undefined {
  const grid = toGrid(task);
  return nextOccurrence(schedule, { ...grid, afterMs: grid.anchorMs - 1 });
}

function dateNext(
  before: Task,
  { repetition: { rule, schedule }, change }: {
    readonly repetition: Repetition;
    readonly change: ScheduleChange;
  },
  context: EventContext,
): Step {
  const { nowMs } = context;
  const task = patched(before, { ...before.held, held: undefined });
  // A slot of this very instant may have been run already, unless the task has
  // had no run yet.
  const afterMs = task.run === 0 ? nowMs - 1 : nowMs;
  const slotMs = nextOccurrence(schedule, {
    ...toGrid(task),
    afterMs: Math.min(afterMs, task.slotMs - 1),
    runs: finishedRuns(task),
  });
  if (slotMs === undefined) return endSchedule(task, context);
  const sinceMs = change === "timing" ? nowMs : task.scheduleSinceMs;
  const planned = patched(task, {
    ...forSlot(task, slotMs),
    scheduleSinceMs: slotMs > nowMs ? undefined : sinceMs,
  });
  if (slotMs === task.slotMs) return settledQuietly(planned, context);
  const dateMs = dateOfSlot(slotMs, rule, context);
  return settled(patched(planned, { dateMs }), context);
}

/**
 * Applies a new date to the status of a task; blocked and paused tasks do that
 * later.
 */
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

/**
 * The fields that can be changed in a task that has ended, by their API names.
 */
const FREE_FIELDS: readonly string[] = ["tags", "metadata", "retain"];

/**
 * Changes the definition of a task from its next attempt on, and its date if
 * one is given. The rules of the context are those of the new definition. A
 * running attempt is not touched. In a task that has ended only the labels and
 * the time that it is kept can change, unless a new date reopens it as a new
 * run.
 */
export function update(
  task: Task,
  event: EventOf<"update">,
  context: EventContext,
): Outcome {
  const { changes, definition } = event;
  const dateMs = event.dateMs === task.dateMs ? undefined : event.dateMs;
  if (dateMs === undefined && changes.length === 0) return undefined;
  const refusal = findRefusal(task, event, dateMs);
  if (refusal !== undefined) return wrongState(`Cannot update: ${refusal}`);
  const isMoved = dateMs !== undefined && task.firstTriedAtMs === undefined;
  const defined = patched(task, {
    ...pickDefinition(definition),
    calls: event.calls ?? (isMoved ? movedCalls(task, dateMs) : task.calls),
    // A schedule has its own next run.
    again: definition.repeat === undefined ? task.again : undefined,
  });
  const notes: readonly Note[] = changes.length === 0
    ? []
    : [{ type: "updated", changes }];
  if (!isFinal(task.status)) {
    return preceded(notes, dated(task, { defined, dateMs }, context));
  }
  return dateMs === undefined
    ? { task: kept(defined, changes, context), notes }
    : updateEnded(defined, { notes, dateMs }, context);
}

/** An ended task, for which a new retention counts from its end as well. */
function kept(
  task: Task,
  changes: EventOf<"update">["changes"],
  { rules }: EventContext,
): Task {
  const { status, finishedAtMs } = task;
  const isChanged = changes.some(({ field }) => field === "retain");
  if (!isChanged || !isFinal(status) || finishedAtMs === undefined) return task;
  const purgeAtMs = keptUntilMs({ ...task, status }, finishedAtMs, rules);
  return patched(task, { purgeAtMs });
}

function findRefusal(
  task: Task,
  { changes }: EventOf<"update">,
  dateMs: number | undefined,
): string | undefined {
  const { status } = task;
  if (status === "running" && dateMs !== undefined) {
    return `the task is "running", so its date can't be moved; wait for the attempt's end or cancel it`;
  }
  if (!isFinal(status) || dateMs !== undefined) return undefined;
  const fixed = changes.find(({ field }) => !FREE_FIELDS.includes(field));
  return fixed === undefined
    ? undefined
    : `the task is "${status}", so "${fixed.field}" can't be changed; a new date opens it again`;
}

function updateEnded(
  task: Task,
  { notes, dateMs }: {
    readonly notes: readonly Note[];
    readonly dateMs: number;
  },
  context: EventContext,
): Outcome {
  const schedule = findRepetition(task, context.rules)?.schedule;
  if (
    schedule !== undefined && isSpawning(task) &&
    runsLeft(schedule, { runs: finishedRuns(task) }) <= 0
  ) {
    return wrongState(
      "Cannot update: the task's schedule has made all tasks that its limit allows",
    );
  }
  const reopened = reopen(task, { dateMs, nowMs: context.nowMs });
  const settled = settleDate(reopened.task, context);
  return {
    ...reopened,
    task: settled.task,
    notes: [...notes, ...reopened.notes, ...settled.notes],
  };
}

function dated(
  before: Task,
  { defined, dateMs }: {
    readonly defined: Task;
    readonly dateMs: number | undefined;
  },
  context: EventContext,
): Step {
  const change = scheduleChange(before, defined);
  if (before.status === "running") {
    return { task: fromNowOn(defined, change, context), notes: [] };
  }
  if (dateMs !== undefined) return moveTo(defined, { dateMs, change }, context);
  return change === "none"
    ? { task: defined, notes: [] }
    : applySchedule(defined, change, context);
}

/** The fields of a repeat rule that decide the times of its slots. */
const TIMING_FIELDS: readonly (keyof RepeatRule)[] = [
  "interval",
  "cron",
  "dialect",
  "exclude",
  "calendars",
];

/**
 * The fields of a repeat rule that limit its slots or decide what happens at
 * them.
 */
const BOUNDS_FIELDS: readonly (keyof RepeatRule)[] = [
  "limit",
  "untilMs",
  "mode",
];

function scheduleChange(
  { repeat: before, timezone }: TaskDefinition,
  { repeat: after, timezone: newTimezone }: TaskDefinition,
): ScheduleChange {
  if (before === undefined || after === undefined) {
    return before === after ? "none" : "timing";
  }
  const differs = (field: keyof RepeatRule): boolean =>
    JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  if (timezone !== newTimezone || TIMING_FIELDS.some(differs)) return "timing";
  return BOUNDS_FIELDS.some(differs) ? "bounds" : "none";
}
