/**
 * The end of a run: its success, and what follows a run by the schedule.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { end, endingOf, missedNotes, preceded } from "./due.ts";
import {
  dateOfSlot,
  forSlot,
  isSpawning,
  type NextSlot,
  type Repetition,
  repetitionOf,
  slotAfterRun,
} from "./repetition.ts";
import {
  changed,
  type EventOf,
  type Note,
  type Patch,
  patched,
  type Step,
} from "./step.ts";
import { attemptNote, settledAs, withLease } from "./lease.ts";

/**
 * Dates the next run, or ends the task when its schedule has no more. A success
 * makes it `done` until then, a failure `scheduled`. When the run took so long
 * that slots were passed over, it tells that the schedule has slipped.
 *
 * @param task As the run has left it, with its last outcome.
 */
export function followRun(
  task: Task,
  repetition: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  const next = slotAfterRun(task, repetition, { nowMs });
  const { repetitions, slotMs } = next;
  const missed = task.missed + next.missed;
  const notes = [...slippedNotes(next), ...missedNotes(next.missed)];
  const isSuccess = task.lastOutcome === "succeeded";
  if (slotMs === undefined) {
    const counted = patched(task, { repetitions, missed });
    const status = isSuccess ? "complete" : "failed";
    const step = end(counted, { status }, context);
    // That a failed run is exhausted was told already.
    return preceded(notes, isSuccess ? step : { ...step, notes: [] });
  }
  const dateMs = next.dateMs ?? dateOfSlot(slotMs, repetition.rule, context);
  const isDue = dateMs <= nowMs && !isSpawning(task);
  const run = task.run + 1;
  const dated = patched(task, {
    status: statusOf(task, isDue),
    repetitions,
    missed,
    run,
    retries: 0,
    ...forSlot({ ...task, run }, slotMs),
    // What the schedule was before it changed is no matter behind that slot.
    ...(task.held?.slotMs === slotMs
      ? { scheduleSinceMs: task.scheduleSinceMs }
      : {}),
    dateMs,
    isDue,
    firstTriedAtMs: undefined,
  });
  return {
    task: dated,
    notes: [...notes, { type: "repeated", nextDateMs: dateMs }],
  };
}

/** The run was in the way of more slots than the one that follows it. */
function slippedNotes({ missed, lateMs = 0 }: NextSlot): readonly Note[] {
  return missed === 0 ? [] : [{ type: "slipped", amount: lateMs }];
}

function statusOf(
  task: Task,
  isDue: boolean,
): "done" | "waiting" | "scheduled" {
  if (isSpawning(task)) return "scheduled";
  if (task.lastOutcome === "succeeded") return "done";
  return isDue ? "waiting" : "scheduled";
}

/** Most bytes of a result that a record holds. */
export const MAX_PREVIEW_BYTES = 1_024;

const MOST_BYTES_OF_A_UNIT = 3;

/** Returns the beginning of a text, at most 1 KiB of UTF-8, cut between characters. */
export function previewOf(text: string): string {
  if (text.length * MOST_BYTES_OF_A_UNIT <= MAX_PREVIEW_BYTES) return text;
  const { read } = new TextEncoder()
    .encodeInto(text, new Uint8Array(MAX_PREVIEW_BYTES));
  return text.slice(0, read);
}

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
    http,
  });
}
