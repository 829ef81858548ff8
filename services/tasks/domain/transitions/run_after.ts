/**
 * Makes a task that runs once run once more, with newer values: requests for
 * that may come while it runs or waits to be retried.
 *
 * @module
 */

import { type NextRun, pickDefinition, type Task } from "../task.ts";
import {
  type EventContext,
  type EventOf,
  type Outcome,
  patched,
  type Step,
  wrongState,
} from "../task_event.ts";
import { settleDate } from "./due.ts";

/**
 * Gives a task whose run has begun new values. While it runs, one more run is
 * noted, however many requests ask for it. A run that waits to be retried gives
 * way to the new one, since its values are out of date.
 */
export function runAfter(
  task: Task,
  event: EventOf<"run_after">,
  context: EventContext,
): Outcome {
  const { definition, changes, next } = event;
  const { status, pausedFrom } = task;
  if (task.repeat !== undefined || definition.repeat !== undefined) {
    return wrongState("Cannot run the task after this run: the task repeats");
  }
  const defined = patched(task, pickDefinition(definition));
  // A run that waits, or has waited, has begun.
  if (
    status === "running" || task.wait?.for !== undefined ||
    task.wait?.resumed !== undefined
  ) {
    if (changes.length === 0 && isSame(task.again, next)) return undefined;
    return {
      task: patched(defined, { again: next }),
      notes: [{
        type: "updated",
        changes,
        message: "one more run follows this one",
        nextDateMs: next.dateMs,
      }],
    };
  }
  if (status !== "retry" && pausedFrom !== "retry") {
    return wrongState(`Cannot run the task after this run: it is "${status}"`);
  }
  const step = runAgain(defined, next, context);
  return {
    ...step,
    notes: changes.length === 0
      ? step.notes
      : [{ type: "updated", changes }, ...step.notes],
  };
}

/**
 * Begins the run that was asked for while the one before it had begun.
 *
 * @param task the task after the attempt, with its outcome
 */
export function runAgain(
  task: Task,
  { dateMs, calls }: NextRun,
  context: EventContext,
): Step {
  const next = patched(task, {
    run: task.run + 1,
    retries: 0,
    lostInRow: 0,
    dateMs,
    slotMs: dateMs,
    isRepetition: false,
    startWithinMs: undefined,
    calls,
    again: undefined,
    wait: undefined,
    isDue: false,
    firstTriedAtMs: undefined,
  });
  const notes = [{ type: "requeued", nextDateMs: dateMs }] as const;
  const isPaused = task.status === "paused";
  const settled = patched(next, {
    status: isPaused
      ? "paused"
      : task.lastOutcome === "succeeded"
      ? "done"
      : "scheduled",
    pausedFrom: isPaused ? "scheduled" : undefined,
  });
  if (isPaused) return { task: settled, notes };
  const step = settleDate(settled, context);
  return { task: step.task, notes: [...notes, ...step.notes] };
}

function isSame(again: NextRun | undefined, next: NextRun): boolean {
  return again?.dateMs === next.dateMs &&
    JSON.stringify(again.calls) === JSON.stringify(next.calls);
}
