/**
 * Canceling, pausing and resuming.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { isFinal } from "../task_status.ts";
import { preceded, settleDate } from "./due.ts";
import { endingOf } from "./ending.ts";
import { attemptNote, settledAs } from "./lease.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  UNCHANGED,
  wrongState,
} from "./step.ts";

/**
 * Cancels a live task at once, also in mid-attempt: that is settled as canceled,
 * so its worker is told at its next sign of life and its outcome is refused.
 */
export function cancel(
  task: Task,
  event: EventOf<"cancel">,
  context: EventContext,
): Transition {
  if (task.status === "canceled") return UNCHANGED;
  if (isFinal(task.status)) {
    return wrongState(`Cannot cancel: the task is "${task.status}"`);
  }
  const { attempt } = task;
  const { reason } = event;
  const note: Note = reason === undefined
    ? { type: "canceled" }
    : { type: "canceled", message: reason };
  const canceled = patched(task, {
    ...endingOf("canceled", context),
    ...(attempt === undefined
      ? {}
      : { settled: settledAs(attempt, "canceled") }),
  });
  return changed(task, {
    task: canceled,
    notes: [attempt === undefined ? note : attemptNote(attempt, note)],
  }, context);
}

/**
 * Keeps a task from being started; also its expiry waits. One that is running
 * can't be paused, for nothing would hold its attempt.
 */
export function pause(
  task: Task,
  _event: EventOf<"pause">,
  context: EventContext,
): Transition {
  const { status } = task;
  if (status === "paused") return UNCHANGED;
  if (status === "running") {
    return wrongState(
      `Cannot pause: the task is "running"; wait for the attempt's end or cancel it`,
    );
  }
  if (isFinal(status)) {
    return wrongState(`Cannot pause: the task is "${status}"`);
  }
  const paused = patched(task, {
    status: "paused",
    pausedFrom: status,
    isDue: false,
  });
  return changed(task, { task: paused, notes: [{ type: "paused" }] }, context);
}

/**
 * Lets a paused task go on where it was. If its date has come meanwhile, it is
 * due; for slots that passed meanwhile the catch-up rule decides, as after
 * downtime.
 */
export function resume(
  task: Task,
  _event: EventOf<"resume">,
  context: EventContext,
): Transition {
  const { status, pausedFrom = "scheduled" } = task;
  if (status !== "paused") {
    return isFinal(status)
      ? wrongState(`Cannot resume: the task is "${status}"`)
      : UNCHANGED;
  }
  const note = { type: "resumed" } as const;
  const live = patched(task, {
    status: pausedFrom,
    pausedFrom: undefined,
  });
  const step = pausedFrom === "blocked"
    ? { task: live, notes: [note] }
    : preceded([note], settleDate(live, context));
  return changed(task, step, context);
}
