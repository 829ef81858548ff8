/**
 * What a task's dependencies do to it.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { preceded, settleDate } from "./due.ts";
import { endingOf } from "./ending.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  type Step,
  UNCHANGED,
} from "./step.ts";

/** The code of the error of a task whose dependency failed. */
export const DEPENDENCY_FAILED = "dependency_failed";

/** Lets a blocked task go on. */
export function unblock(
  task: Task,
  _event: EventOf<"unblock">,
  context: EventContext,
): Transition {
  const step = unblocked(task, { type: "unblocked" }, context);
  return step === undefined ? UNCHANGED : changed(task, step, context);
}

/**
 * Does what the task wants when a dependency ends badly: it fails, it runs all
 * the same, or it goes on waiting until somebody has seen to it. One that runs
 * all the same is unblocked here and now, so this must come after its other
 * dependencies are settled.
 */
export function dependencyFailed(
  task: Task,
  event: EventOf<"dependency_failed">,
  context: EventContext,
): Transition {
  if (!isBlocked(task) || task.onDependencyFailure === "wait") {
    return UNCHANGED;
  }
  const message = `dependency "${event.dependency}" did not succeed`;
  if (task.onDependencyFailure === "run") {
    const step = unblocked(task, { type: "unblocked", message }, context);
    return step === undefined ? UNCHANGED : changed(task, step, context);
  }
  const error = { code: DEPENDENCY_FAILED, message, atMs: context.nowMs };
  const failed = patched(task, {
    ...endingOf("failed", context),
    lastOutcome: "failed",
    error,
  });
  const notes = [{ type: "exhausted", message, error }] as const;
  return changed(task, { task: failed, notes }, context);
}

/** Lets a blocked task go on; undefined when it is not blocked. */
export function unblocked(
  task: Task,
  note: Note,
  context: EventContext,
): Step | undefined {
  if (!isBlocked(task)) return undefined;
  if (task.status === "paused") {
    return { task: patched(task, { pausedFrom: "scheduled" }), notes: [note] };
  }
  const free = patched(task, { status: "scheduled" });
  return preceded([note], settleDate(free, context));
}

function isBlocked({ status, pausedFrom }: Task): boolean {
  return status === "blocked" ||
    status === "paused" && pausedFrom === "blocked";
}
