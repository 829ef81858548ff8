/**
 * What time alone does to a task.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { isFinal } from "../task_status.ts";
import { settleDate } from "./due.ts";
import { end } from "./ending.ts";
import { failAttempt } from "./failure.ts";
import { loseAttempt } from "./loss.ts";
import { requeueUnheld } from "./repair.ts";
import { isSpawning, repetitionOf } from "./repetition.ts";
import { spawn } from "./spawn.ts";
import { changed, type EventOf, type Step, UNCHANGED } from "./step.ts";

/** The code of the failure of an attempt that took too long. */
export const TIMED_OUT = "timed_out";

/**
 * Does what has come: the end of an attempt, the expiry, the date, the end in
 * store. Each instant at which `placementOf` has a task looked at is answered
 * with a change, so that the clock never looks twice.
 */
export function wake(
  task: Task,
  _event: EventOf<"wake">,
  context: EventContext,
): Transition {
  const { nowMs } = context;
  if (isFinal(task.status)) {
    return nowMs >= (task.purgeAtMs ?? Infinity)
      ? { kind: "purge" }
      : UNCHANGED;
  }
  const step = stepOf(task, context);
  return step === undefined ? UNCHANGED : changed(task, step, context);
}

function stepOf(task: Task, context: EventContext): Step | undefined {
  if (task.status === "paused") return undefined;
  if (task.status === "running") return wakeRunning(task, context);
  if (context.nowMs >= (task.expiresAtMs ?? Infinity)) {
    return expire(task, context);
  }
  return task.status === "blocked" ? undefined : wakeDated(task, context);
}

function wakeRunning(task: Task, context: EventContext): Step | undefined {
  const { attempt } = task;
  if (attempt === undefined) {
    return requeueUnheld(task, "it was running without a lease");
  }
  const { expiresAtMs, deadlineMs } = attempt;
  if (context.nowMs < Math.min(expiresAtMs, deadlineMs)) return undefined;
  return deadlineMs <= expiresAtMs && !isSilent(attempt)
    ? timeOut(task, attempt, context)
    : loseAttempt(task, { attempt, reason: "the lease has ended" }, context);
}

/**
 * Whether the whole lease passed without a sign of life: whoever had it is gone,
 * even where the time for the attempt ends at the same moment.
 */
function isSilent(attempt: Attempt): boolean {
  const { bootId, seenAtMs, startedAtMs, leaseMs, deadlineMs } = attempt;
  return bootId === undefined && seenAtMs === undefined &&
    startedAtMs + leaseMs <= deadlineMs;
}

function timeOut(task: Task, attempt: Attempt, context: EventContext): Step {
  const limitMs = attempt.deadlineMs - attempt.startedAtMs;
  return failAttempt(task, {
    attempt,
    type: "timed_out",
    failure: { code: TIMED_OUT },
    message: `the attempt took longer than ${limitMs} ms`,
  }, context);
}

/**
 * A run that has not begun expires. A retry is part of one that has, so the run
 * has failed; a repeating task between two runs is complete.
 */
function expire(task: Task, context: EventContext): Step {
  switch (task.status) {
    case "retry": {
      const message = "the task expired before the next retry";
      const failed: Task = { ...task, lastOutcome: "failed" };
      return end(failed, { status: "failed", message }, context);
    }
    case "done": {
      const message = "the task expired before the next repetition";
      return end(task, { status: "complete", message }, context);
    }
    default:
      return end(task, { status: "expired" }, context);
  }
}

function wakeDated(task: Task, context: EventContext): Step | undefined {
  const { dateMs, isDue } = task;
  const hasCome = context.nowMs >= dateMs;
  if (hasCome === isDue) return undefined;
  if (!hasCome) {
    // It can't be started now, and only a task that is not due is looked at again.
    const message = "the clock was set back";
    const { task: waiting } = settleDate(task, context);
    const notes = [{ type: "moved", message, nextDateMs: dateMs }] as const;
    return { task: waiting, notes };
  }
  const repetition = repetitionOf(task, context.rules);
  return repetition !== undefined && isSpawning(task) &&
      task.status === "scheduled" && task.firstTriedAtMs === undefined
    ? spawn(task, repetition, context)
    : settleDate(task, context);
}
