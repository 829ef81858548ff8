/**
 * Schedules whose slots make tasks of their own.
 *
 * @module
 */

import { catchUp } from "../catch_up.ts";
import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import { missedNotes } from "./due.ts";
import { end } from "./ending.ts";
import {
  dateOfSlot,
  gridOf,
  ON_TIME_MS,
  type Repetition,
  runsHad,
} from "./repetition.ts";
import { type Note, patched, type Step } from "./step.ts";

/** Most tasks that one transition makes; the others follow at once. */
export const MAX_SPAWNED = 100;

/**
 * Makes tasks for the slots that have come, as the catch-up rule says, and moves
 * the schedule to the next one; without one it is complete.
 */
export function spawn(
  task: Task,
  { rule, schedule }: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  const { slotMs: scheduledMs, dateMs } = task;
  // A schedule that was moved by hand to before its slot is for that slot.
  const throughMs = Math.max(nowMs, scheduledMs);
  const movedMs = Math.max(0, dateMs - scheduledMs);
  const { runs, nextMs, missed } = catchUp(schedule, {
    ...gridOf(task),
    runs: runsHad(task),
    scheduledMs,
    isPending: true,
    nowMs: throughMs,
    mode: rule.catchUp,
    windowMs: rule.catchUpWindowMs + movedMs,
    graceMs: ON_TIME_MS + movedMs,
    limit: MAX_SPAWNED,
  });
  const slots = runs.map((slotMs) => Math.min(slotMs, nowMs));
  const run = task.run + slots.length;
  const counted = patched(task, {
    run,
    repetitions: slots.length === 0
      ? task.repetitions
      : runsHad(task) + slots.length - 1,
    missed: task.missed + missed,
  });
  const notes = [...missedNotes(missed), ...spawnedNotes(slots)];
  if (nextMs === undefined) {
    const ended = end(counted, { status: "complete" }, context);
    return {
      task: ended.task,
      notes: [...notes, ...ended.notes],
      spawnSlotsMs: slots,
    };
  }
  const nextDateMs = dateOfSlot(nextMs, rule, context);
  return {
    task: patched(counted, {
      status: "scheduled",
      isDue: false,
      slotMs: nextMs,
      dateMs: nextDateMs,
    }),
    notes: [...notes, { type: "repeated", nextDateMs }],
    spawnSlotsMs: slots,
  };
}

function spawnedNotes(slots: readonly number[]): readonly Note[] {
  return slots.length === 0 ? [] : [{ type: "spawned", amount: slots.length }];
}
