/**
 * Handles the events that the service itself causes: dependencies are settled,
 * the reconciler repairs a task, a callback was made, or the machine's clock
 * was set.
 *
 * @module
 */

import type { Attempt, Task, TaskError } from "../task.ts";
import {
  type EventContext,
  type Handler,
  type Handlers,
  type Note,
  patched,
  preceded,
  type Step,
} from "../task_event.ts";
import { buildEnding, settleDate } from "./due.ts";
import { computeShift } from "../clock_step.ts";
import { isBlocked } from "../dependency_rules.ts";

/** The error code of a task whose dependency failed. */
const DEPENDENCY_FAILED = "dependency_failed";

/** The error code of a task whose dependency was removed. */
const DEPENDENCY_REMOVED = "dependency_removed";

/** Unblocks a blocked task. */
const unblock: Handler<"unblock"> = (task, _event, context) =>
  unblocked(task, { type: "unblocked" }, context);

/**
 * Applies the task's own rule for a failed dependency: the task fails, it runs
 * all the same, or it waits until its owner has fixed the dependency, which is
 * of no use once the dependency was removed: the task fails then, too. A task
 * that runs all the same is unblocked at once, so this event must come after
 * its other dependencies are settled.
 */
const dependencyFailed: Handler<"dependency_failed"> = (
  task,
  { dependency, isRemoved },
  context,
) => {
  if (!isBlocked(task)) return undefined;
  const message = isRemoved
    ? `dependency "${dependency}" was removed`
    : `dependency "${dependency}" did not succeed`;
  const rule = task.onDependencyFailure;
  if (rule === "run") {
    return unblocked(task, { type: "unblocked", message }, context);
  }
  if (rule === "wait" && !isRemoved) return undefined;
  const error: TaskError = {
    code: isRemoved ? DEPENDENCY_REMOVED : DEPENDENCY_FAILED,
    message,
    // A removed task is never tried again, so it never revives this one.
    dependency: isRemoved ? undefined : dependency,
    atMs: context.nowMs,
  };
  return {
    task: patched(task, {
      ...buildEnding(task, "failed", context),
      lastOutcome: "failed",
      error,
    }),
    notes: [{ type: "exhausted", message, error }],
  };
};

/**
 * Makes a task that has failed by a dependency wait for the dependency again,
 * with its run and its date as they were.
 */
const revive: Handler<"revive"> = (task, { dependency }) => {
  const { status, error } = task;
  if (status !== "failed" || error?.dependency !== dependency) return undefined;
  return {
    task: patched(task, {
      status: "blocked",
      lastOutcome: undefined,
      error: undefined,
      finishedAtMs: undefined,
      purgeAtMs: undefined,
    }),
    notes: [{
      type: "requeued",
      message: `dependency "${dependency}" is tried again`,
    }],
  };
};

/** Keeps a task that has ended for longer. */
const keep: Handler<"keep"> = (task, { untilMs }) =>
  (task.purgeAtMs ?? Infinity) >= untilMs
    ? undefined
    : { task: patched(task, { purgeAtMs: untilMs }), notes: [] };

/** Unblocks a blocked task; undefined when the task is not blocked. */
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

/**
 * Repairs a task, if it is still in the state in which the reconciler found it.
 */
const repair: Handler<"repair"> = (task, { reason }) =>
  requeueUnheld(task, reason);

/**
 * Makes a task wait that is running without an attempt, a state that must not
 * occur.
 */
export function requeueUnheld(task: Task, reason: string): Step | undefined {
  if (task.status !== "running" || task.attempt !== undefined) return undefined;
  return {
    task: patched(task, { status: "waiting", isDue: true }),
    notes: [{ type: "repaired", message: reason }],
  };
}

/** Records in the history that the callback was made or given up. */
const callback: Handler<"callback"> = (
  task,
  { isSent, message, http },
) => {
  const type = isSent ? "callback_sent" : "callback_failed";
  return { task, notes: [{ type, message, http }] };
};

/**
 * Moves the times of the running attempt by as much as the machine's clock was
 * set, so that the attempt keeps the time it was given: no less when the clock
 * was set forward, no more when it was set back. An attempt that began after
 * the change stays as it is.
 *
 * Afterwards the attempt's times fit the new clock, so the same steps must not
 * be applied to it again.
 */
const followClock: Handler<"follow_clock"> = (
  task,
  { steps },
  { nowMs },
) => {
  const { attempt } = task;
  if (attempt === undefined) return undefined;
  const moved = <Instant extends number | undefined>(atMs: Instant) =>
    atMs === undefined ? atMs : atMs + computeShift(atMs, { steps, nowMs });
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

/**
 * The end of the lease on the new clock. The lease counts from its last
 * heartbeat, so its end moves by as much as the time of that heartbeat.
 */
function leaseEnd(before: Attempt, now: Attempt): number {
  const { bootId, seenAtMs, leaseMs, deadlineMs } = now;
  if (bootId !== undefined || seenAtMs === undefined) {
    return before.expiresAtMs + deadlineMs - before.deadlineMs;
  }
  const movedMs = before.expiresAtMs + seenAtMs - (before.seenAtMs ?? seenAtMs);
  // The lease was cut off at the deadline of the old clock if the heartbeat
  // came after the step.
  const endMs = before.expiresAtMs === before.deadlineMs
    ? Math.max(movedMs, seenAtMs + leaseMs)
    : movedMs;
  return Math.min(endMs, deadlineMs);
}

/** The handlers of the events that the service causes, except waking. */
export const SERVICE_EVENTS: Handlers<
  | "unblock"
  | "dependency_failed"
  | "revive"
  | "keep"
  | "repair"
  | "callback"
  | "follow_clock"
> = {
  unblock,
  dependency_failed: dependencyFailed,
  revive,
  keep,
  repair,
  callback,
  follow_clock: followClock,
};
