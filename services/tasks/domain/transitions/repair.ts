/**
 * What the reconciler puts right.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { unblocked } from "./dependencies.ts";
import {
  changed,
  type EventOf,
  patched,
  type Step,
  UNCHANGED,
} from "./step.ts";

/** Puts a task right, if it still is as the reconciler found it. */
export function repair(
  task: Task,
  event: EventOf<"repair">,
  context: EventContext,
): Transition {
  const step = event.patch.kind === "requeue"
    ? requeueUnheld(task, event.reason)
    : unblocked(task, { type: "repaired", message: event.reason }, context);
  return step === undefined ? UNCHANGED : changed(task, step, context);
}

/** Lets a task wait that is running and has no attempt, which cannot be. */
export function requeueUnheld(task: Task, reason: string): Step | undefined {
  if (task.status !== "running" || task.attempt !== undefined) return undefined;
  return {
    task: patched(task, { status: "waiting", isDue: true }),
    notes: [{ type: "repaired", message: reason }],
  };
}
