/**
 * Events that the service itself causes: dependencies are settled, the
 * reconciler repairs a task, a callback was made, the time of day was set.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { endingOf, preceded, settleDate } from "./due.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  type Step,
  UNCHANGED,
} from "./step.ts";
import { shiftOf } from "../clock_step.ts";

/** What follows from the state of all dependencies. */
export type DependencyVerdict =
  | { readonly kind: "ready" }
  | { readonly kind: "waits"; readonly for: readonly string[] }
  | { readonly kind: "failed"; readonly dependency: string };

/** A dependency as it is now; a task that was removed is missing. */
export type DependencyState =
  | Pick<Task, "id" | "status"> & Partial<Pick<Task, "lastOutcome">>
  | undefined;

/**
 * Judges the dependencies of a task: it may start when all have succeeded, be
 * it for good or with repetitions to come. One that was canceled, failed,
 * expired or removed has failed; whether that fails the task, lets it start once
 * the others are settled, or makes it wait for another try is the task's own
 * rule.
 *
 * @param states in the order of `task.dependencies`
 */
export function judgeDependencies(
  task: Pick<Task, "dependencies" | "onDependencyFailure">,
  states: readonly DependencyState[],
): DependencyVerdict {
  const waitsFor: string[] = [];
  for (const [index, id] of task.dependencies.entries()) {
    const state = states[index];
    switch (state?.status) {
      case "complete":
      case "done":
        break;
      case undefined:
      case "failed":
      case "canceled":
      case "expired":
        if (task.onDependencyFailure === "fail") {
          return { kind: "failed", dependency: id };
        }
        if (task.onDependencyFailure === "wait") waitsFor.push(id);
        break;
      default:
        // A repeating task that has succeeded once has done its part.
        if (state?.lastOutcome !== "succeeded") waitsFor.push(id);
    }
  }
  return waitsFor.length === 0
    ? { kind: "ready" }
    : { kind: "waits", for: waitsFor };
}

/** The code of the error of a task whose dependency failed. */
const DEPENDENCY_FAILED = "dependency_failed";

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
 * the same, or it goes on waiting until its owner has seen to it. One that runs
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
function unblocked(
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

/** Keeps in the history that the call was made or given up. */
export function callback(
  task: Task,
  { isSent, message, http }: EventOf<"callback">,
  context: EventContext,
): Transition {
  const note: Note = {
    type: isSent ? "callback_sent" : "callback_failed",
    message,
    http,
  };
  return changed(task, { task, notes: [note] }, context);
}

/**
 * Sets the times of the attempt under way as the time of day was set, so that it
 * has the time that it was given: no less when the clock was set forward, no
 * more when it was set back. An attempt that began after that stays as it is.
 *
 * After this the attempt's times are of the clock as it is now, so the same
 * steps must not be applied to it again.
 */
export function followClock(
  task: Task,
  { steps }: EventOf<"follow_clock">,
  context: EventContext,
): Transition {
  const { attempt, startedAtMs, firstTriedAtMs } = task;
  if (attempt === undefined) return UNCHANGED;
  const { nowMs } = context;
  const moved = (instantMs: number): number =>
    instantMs + shiftOf(instantMs, { steps, nowMs });
  const shiftMs = moved(attempt.startedAtMs) - attempt.startedAtMs;
  if (shiftMs === 0) return UNCHANGED;
  const { seenAtMs } = attempt;
  const attemptNow: Attempt = {
    ...attempt,
    startedAtMs: attempt.startedAtMs + shiftMs,
    deadlineMs: attempt.deadlineMs + shiftMs,
    ...(seenAtMs === undefined ? {} : { seenAtMs: moved(seenAtMs) }),
  };
  return changed(task, {
    task: patched(task, {
      attempt: { ...attemptNow, expiresAtMs: leaseEnd(attempt, attemptNow) },
      ...(startedAtMs === undefined ? {} : { startedAtMs: moved(startedAtMs) }),
      ...(firstTriedAtMs === undefined
        ? {}
        : { firstTriedAtMs: moved(firstTriedAtMs) }),
    }),
    notes: [],
  }, context);
}

/** The lease goes with its last sign of life, and that with the clock of its time. */
function leaseEnd(before: Attempt, now: Attempt): number {
  const { bootId, seenAtMs, leaseMs, deadlineMs } = now;
  if (bootId !== undefined || seenAtMs === undefined) {
    return before.expiresAtMs + deadlineMs - before.deadlineMs;
  }
  const movedMs = before.expiresAtMs + seenAtMs - (before.seenAtMs ?? seenAtMs);
  // It was cut off at a deadline of the clock before, if the sign of life came
  // after the step.
  const endMs = before.expiresAtMs === before.deadlineMs
    ? Math.max(movedMs, seenAtMs + leaseMs)
    : movedMs;
  return Math.min(endMs, deadlineMs);
}
