/**
 * Schedules whose slots make tasks of their own.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import { missedNotes } from "./due.ts";
import { end } from "./ending.ts";
import { dateOfSlot, forSlot, type Repetition, runsHad } from "./repetition.ts";
import { spawnSlots } from "./spawn_slots.ts";
import { type Note, patched, type Step } from "./step.ts";

/**
 * Makes tasks for the slots that have come, as the catch-up rule says, and moves
 * the schedule to the next one; without one it is complete.
 */
export function spawn(
  task: Task,
  repetition: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  const { runs, nextMs, missed, withoutRoom } = spawnSlots(
    task,
    repetition,
    context,
  );
  const slots = runs.map((slotMs) => Math.min(slotMs, nowMs));
  const run = task.run + slots.length;
  const counted = patched(task, {
    run,
    repetitions: slots.length === 0
      ? task.repetitions
      : runsHad(task) + slots.length - 1,
    missed: task.missed + missed + withoutRoom,
  });
  const notes = [
    ...missedNotes(missed),
    ...spawnedNotes(slots),
    ...withoutRoomNotes(withoutRoom),
  ];
  if (nextMs === undefined) {
    const ended = end(counted, { status: "complete" }, context);
    return {
      task: ended.task,
      notes: [...notes, ...ended.notes],
      spawnSlotsMs: slots,
    };
  }
  const nextDateMs = dateOfSlot(nextMs, repetition.rule, context);
  return {
    task: patched(counted, {
      status: "scheduled",
      isDue: false,
      ...forSlot(counted, nextMs),
      dateMs: nextDateMs,
    }),
    notes: [...notes, { type: "repeated", nextDateMs }],
    spawnSlotsMs: slots,
  };
}

function spawnedNotes(slots: readonly number[]): readonly Note[] {
  return slots.length === 0 ? [] : [{ type: "spawned", amount: slots.length }];
}

function withoutRoomNotes(missed: number): readonly Note[] {
  const message = "the plan has no room for more active tasks";
  return missedNotes(missed).map((note) => ({ ...note, message }));
}
