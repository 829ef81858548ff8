/**
 * A change of what a task is.
 *
 * @module
 */

import { runsLeft } from "../schedule.ts";
import type { RepeatRule, Task, TaskDefinition } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { isFinal } from "../task_status.ts";
import { definitionPatchOf } from "./definition_patch.ts";
import { preceded, settleDate } from "./due.ts";
import {
  applySchedule,
  fromNowOn,
  moveTo,
  type ScheduleChange,
} from "./redate.ts";
import { isSpawning, repetitionOf, runsHad } from "./repetition.ts";
import { reopen } from "./rerun.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  type Step,
  UNCHANGED,
  wrongState,
} from "./step.ts";

/** What can be changed in a task that has ended, by name in the API. */
const LABEL_FIELDS: readonly string[] = ["tags", "metadata"];

/**
 * Changes what a task is from its next attempt on, and when it runs if it is
 * given a date. The rules of the context are those of the new definition. An
 * attempt under way is not touched. A task that has ended takes new labels
 * alone, unless a new date lets it live again as a new run.
 */
export function update(
  task: Task,
  event: EventOf<"update">,
  context: EventContext,
): Transition {
  const { changes, definition } = event;
  const dateMs = event.dateMs === task.dateMs ? undefined : event.dateMs;
  if (dateMs === undefined && changes.length === 0) return UNCHANGED;
  const refusal = refusalOf(task, event, dateMs);
  if (refusal !== undefined) return wrongState(`Cannot update: ${refusal}`);
  const defined = patched(task, definitionPatchOf(definition));
  const notes: readonly Note[] = changes.length === 0
    ? []
    : [{ type: "updated", changes }];
  if (isFinal(task.status) && dateMs !== undefined) {
    return updateEnded(task, { defined, notes, dateMs }, context);
  }
  const step = isFinal(task.status)
    ? { task: defined, notes: [] }
    : dated(task, { defined, dateMs }, context);
  return changed(task, preceded(notes, step), context);
}

function refusalOf(
  task: Task,
  { changes }: EventOf<"update">,
  dateMs: number | undefined,
): string | undefined {
  const { status } = task;
  if (status === "running" && dateMs !== undefined) {
    return `the task is "running", so its date can't be moved; wait for the attempt's end or cancel it`;
  }
  if (!isFinal(status) || dateMs !== undefined) return undefined;
  const fixed = changes.find(({ field }) => !LABEL_FIELDS.includes(field));
  return fixed === undefined
    ? undefined
    : `the task is "${status}", so "${fixed.field}" can't be changed; a new date opens it again`;
}

function updateEnded(
  task: Task,
  { defined, notes, dateMs }: {
    readonly defined: Task;
    readonly notes: readonly Note[];
    readonly dateMs: number;
  },
  context: EventContext,
): Transition {
  const schedule = repetitionOf(defined, context.rules)?.schedule;
  if (
    schedule !== undefined && isSpawning(defined) &&
    runsLeft(schedule, { runs: runsHad(defined) }) <= 0
  ) {
    return wrongState(
      "Cannot update: the task's schedule has made all tasks that its limit allows",
    );
  }
  const reopened = reopen(defined, { dateMs, nowMs: context.nowMs });
  const settled = settleDate(reopened.task, context);
  return changed(task, {
    ...reopened,
    task: settled.task,
    notes: [...notes, ...reopened.notes, ...settled.notes],
  }, context);
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

/** Fields of a repeat rule that say where its slots are. */
const TIMING_FIELDS: readonly (keyof RepeatRule)[] = ["interval", "cron"];

/** Fields that say which of them there are, and what is made of them. */
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
    before[field] !== after[field];
  if (timezone !== newTimezone || TIMING_FIELDS.some(differs)) return "timing";
  return BOUNDS_FIELDS.some(differs) ? "bounds" : "none";
}
