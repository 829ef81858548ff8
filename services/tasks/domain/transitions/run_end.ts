/**
 * What follows the end of a run in a task that repeats.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import { missedNotes, preceded } from "./due.ts";
import { end } from "./ending.ts";
import { type NextSlot, slotAfterRun } from "./next_slot.ts";
import {
  dateOfSlot,
  forSlot,
  isSpawning,
  type Repetition,
} from "./repetition.ts";
import { type Note, patched, type Step } from "./step.ts";

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
