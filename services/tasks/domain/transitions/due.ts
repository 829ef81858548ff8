/**
 * Makes tasks due when their date is reached, and ends tasks.
 *
 * @module
 */

import { keptUntilMs } from "../retention.ts";
import type { FinalStatus, Task } from "../task.ts";
import {
  type EventContext,
  type Note,
  type Patch,
  patched,
  preceded,
  type Step,
} from "../task_event.ts";
import type { HistoryType } from "../history.ts";
import { findRepetition } from "../rules.ts";
import {
  dateOfSlot,
  forOtherSlot,
  forSlot,
  isSpawning,
  pendingSlot,
} from "./repetition.ts";

const ENDING_TYPES: Readonly<Record<FinalStatus, HistoryType>> = {
  complete: "completed",
  failed: "exhausted",
  canceled: "canceled",
  expired: "expired",
};

/** The fields to set when a task gets a final status. */
export function buildEnding(
  task: Pick<Task, "calls">,
  status: FinalStatus,
  { nowMs, rules }: Pick<EventContext, "nowMs" | "rules">,
): Patch {
  return {
    status,
    pausedFrom: undefined,
    isDue: false,
    attempt: undefined,
    wait: undefined,
    firstTriedAtMs: undefined,
    isRepetition: undefined,
    held: undefined,
    scheduleSinceMs: undefined,
    again: undefined,
    finishedAtMs: nowMs,
    purgeAtMs: keptUntilMs({ ...task, status }, nowMs, rules),
  };
}

/** Ends a task without a running attempt. The message is for people. */
export function end(
  task: Task,
  { status, message }: {
    readonly status: FinalStatus;
    readonly message?: string | undefined;
  },
  context: EventContext,
): Step {
  return {
    task: patched(task, buildEnding(task, status, context)),
    notes: [{ type: ENDING_TYPES[status], message }],
  };
}

/**
 * Ends a task whose schedule has no more slots. It gets the outcome of its last
 * run as its status, or `expired` when it never ran.
 */
export function endSchedule(task: Task, context: EventContext): Step {
  const message = "the schedule has no more slots";
  return end(task, { status: endOfSchedule(task), message }, context);
}

function endOfSchedule({ lastOutcome }: Task): FinalStatus {
  if (lastOutcome === undefined) return "expired";
  return lastOutcome === "succeeded" ? "complete" : "failed";
}

/**
 * Puts a task that is `scheduled`, `waiting`, `retry` or `done` into the state
 * that fits its date: due, or waiting for the date. When slots of its schedule
 * have passed, the catch-up rule decides for which of them the task runs, or
 * that it waits for the next slot. The date stays as it was, so that the lag
 * tells how late the run is. A schedule that creates tasks is never due itself.
 *
 * @param options whether the slots that were missed are counted as missed; by
 * default they are
 */
export function settleDate(
  task: Task,
  context: EventContext,
  { countsMissed = true }: { readonly countsMissed?: boolean } = {},
): Step {
  const { nowMs, rules } = context;
  if (isSpawning(task) && task.firstTriedAtMs === undefined) {
    const waiting = patched(task, { status: "scheduled", isDue: false });
    return { task: waiting, notes: [] };
  }
  // The clock ends a wait whose time is over, by its rule.
  if (task.dateMs > nowMs || task.wait?.for !== undefined) return toWait(task);
  const repetition = findRepetition(task, rules);
  if (repetition === undefined) return toDue(task, task.slotMs);
  const pending = pendingSlot(task, repetition, nowMs);
  const missed = countsMissed ? pending.missed : 0;
  const counted = patched(task, { missed: task.missed + missed });
  const notes = missedNotes(missed);
  const { slotMs, isRun } = pending;
  if (slotMs === undefined) {
    return preceded(notes, endSchedule(counted, context));
  }
  if (isRun) return preceded(notes, toDue(counted, slotMs));
  const dateMs = dateOfSlot(slotMs, repetition.rule, context);
  return {
    ...toWait(patched(counted, { ...forSlot(task, slotMs), dateMs })),
    notes: [...notes, { type: "moved", nextDateMs: dateMs }],
  };
}

/**
 * The same for a task that was kept from running on purpose: the date of a run
 * that is due for a later slot is that slot, so that the time before counts
 * neither as lag nor as slipping.
 */
export function settleAfterPause(
  task: Task,
  context: EventContext,
  options?: Parameters<typeof settleDate>[2],
): Step {
  const step = settleDate(task, context, options);
  const { slotMs, isDue } = step.task;
  return slotMs === task.slotMs || !isDue
    ? step
    : { ...step, task: patched(step.task, { dateMs: slotMs }) };
}

/** The note about missed slots, if there were any. */
export function missedNotes(
  missed: number,
  message?: string,
): readonly Note[] {
  return missed === 0 ? [] : [{ type: "missed", amount: missed, message }];
}

function toDue(task: Task, slotMs: number): Step {
  const status = task.status === "scheduled" ? "waiting" : task.status;
  return {
    task: patched(task, {
      status,
      isDue: true,
      ...forOtherSlot(task, slotMs),
    }),
    notes: [{ type: "due" }],
  };
}

function toWait(task: Task): Step {
  const status = task.status === "waiting" ? "scheduled" : task.status;
  return { task: patched(task, { status, isDue: false }), notes: [] };
}
