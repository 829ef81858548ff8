/**
 * Events that the service itself causes: dependencies are settled, the
 * reconciler repairs a task, a callback was made, the time of day was set.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import {
  type EventContext,
  type Handler,
  type Handlers,
  type Note,
  patched,
  preceded,
  type Step,
} from "../task_event.ts";
import { endingOf, settleDate } from "./due.ts";
import { shiftOf } from "../clock_step.ts";
import { isBlocked } from "../dependency_rules.ts";

/** The code of the error of a task whose dependency failed. */
const DEPENDENCY_FAILED = "dependency_failed";

/** Lets a blocked task go on. */
const unblock: Handler<"unblock"> = (task, _event, context) =>
  unblocked(task, { type: "unblocked" }, context);

/**
 * Does what the task wants when a dependency ends badly: it fails, it runs all
 * the same, or it goes on waiting until its owner has seen to it. One that runs
 * all the same is unblocked here and now, so this must come after its other
 * dependencies are settled.
 */
const dependencyFailed: Handler<"dependency_failed"> = (
  task,
  { dependency },
  context,
) => {
  if (!isBlocked(task)) return undefined;
  const message = `dependency "${dependency}" did not succeed`;
  switch (task.onDependencyFailure) {
    case "wait":
      return undefined;
    case "run":
      return unblocked(task, { type: "unblocked", message }, context);
    case "fail": {
      const error = { code: DEPENDENCY_FAILED, message, atMs: context.nowMs };
      return {
        task: patched(task, {
          ...endingOf("failed", context),
          lastOutcome: "failed",
          error,
        }),
        notes: [{ type: "exhausted", message, error }],
      };
    }
  }
};

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

/** Puts a task right, if it still is as the reconciler found it. */
const repair: Handler<"repair"> = (task, { reason }) =>
  requeueUnheld(task, reason);

/** Lets a task wait that is running and has no attempt, which cannot be. */
export function requeueUnheld(task: Task, reason: string): Step | undefined {
  if (task.status !== "running" || task.attempt !== undefined) return undefined;
  return {
    task: patched(task, { status: "waiting", isDue: true }),
    notes: [{ type: "repaired", message: reason }],
  };
}

/** Keeps in the history that the call was made or given up. */
const callback: Handler<"callback"> = (
  task,
  { isSent, message, http },
) => {
  const type = isSent ? "callback_sent" : "callback_failed";
  return { task, notes: [{ type, message, http }] };
};

/**
 * Sets the times of the attempt under way as the time of day was set, so that it
 * has the time that it was given: no less when the clock was set forward, no
 * more when it was set back. An attempt that began after that stays as it is.
 *
 * After this the attempt's times are of the clock as it is now, so the same
 * steps must not be applied to it again.
 */
const followClock: Handler<"follow_clock"> = (
  task,
  { steps },
  { nowMs },
) => {
  const { attempt } = task;
  if (attempt === undefined) return undefined;
  const moved = <Instant extends number | undefined>(atMs: Instant) =>
    atMs === undefined ? atMs : atMs + shiftOf(atMs, { steps, nowMs });
  const startedAtMs = moved(attempt.startedAtMs);
  const shiftMs = startedAtMs - attempt.startedAtMs;
  if (shiftMs === 0) return undefined;
  const attemptNow: Attempt = {
    ...attempt,
    startedAtMs,
    deadlineMs: attempt.deadlineMs + shiftMs,
    seenAtMs: moved(attempt.seenAtMs),
  };
  return {
    task: patched(task, {
      attempt: { ...attemptNow, expiresAtMs: leaseEnd(attempt, attemptNow) },
      startedAtMs: moved(task.startedAtMs),
      firstTriedAtMs: moved(task.firstTriedAtMs),
    }),
    notes: [],
  };
};

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

/** What the service lets happen to a task, beside its dates. */
export const SERVICE_EVENTS: Handlers<
  "unblock" | "dependency_failed" | "repair" | "callback" | "follow_clock"
> = {
  unblock,
  dependency_failed: dependencyFailed,
  repair,
  callback,
  follow_clock: followClock,
};
