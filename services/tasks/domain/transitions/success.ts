/**
 * An attempt that succeeded.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { endingOf } from "./ending.ts";
import { attemptNote, settledAs, withLease } from "./lease.ts";
import { repetitionOf } from "./repetition.ts";
import { previewOf } from "./result_preview.ts";
import { followRun } from "./run_end.ts";
import {
  changed,
  type EventOf,
  type Note,
  type Patch,
  patched,
} from "./step.ts";

/** Ends the run well; a repeating task goes on to its next one. */
export function complete(
  task: Task,
  event: EventOf<"complete">,
  context: EventContext,
): Transition {
  const claim = {
    lease: event.lease,
    action: "complete",
    outcome: "completed",
  } as const;
  return withLease(task, claim, (attempt) => {
    const outcome = outcomeOf(task, { attempt, event }, context.nowMs);
    const note = noteOf(attempt, event);
    const repetition = repetitionOf(task, context.rules);
    if (repetition === undefined) {
      const ending = endingOf("complete", context);
      const next = patched(task, { ...outcome, ...ending });
      return changed(task, {
        task: next,
        notes: [note, { type: "completed" }],
      }, context);
    }
    const ended = patched(task, outcome);
    const followed = followRun(ended, repetition, context);
    const notes = [note, ...followed.notes];
    return changed(task, { ...followed, notes }, context);
  });
}

interface Success {
  readonly attempt: Attempt;
  readonly event: EventOf<"complete">;
}

function outcomeOf(
  task: Task,
  { attempt, event }: Success,
  nowMs: number,
): Patch {
  const { resultJson, isResultTruncated } = event;
  return {
    executions: task.executions + 1,
    retries: 0,
    lostInRow: 0,
    lastOutcome: "succeeded",
    durationMs: Math.max(0, nowMs - attempt.startedAtMs),
    resultJson,
    isResultTruncated,
    error: undefined,
    attempt: undefined,
    settled: settledAs(attempt, "completed"),
  };
}

function noteOf(attempt: Attempt, event: EventOf<"complete">): Note {
  const { resultJson, http } = event;
  return attemptNote(attempt, {
    type: "succeeded",
    ...(resultJson === undefined
      ? {}
      : { resultPreview: previewOf(resultJson) }),
    ...(http === undefined ? {} : { http }),
  });
}
