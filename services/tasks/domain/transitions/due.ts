/**
 * How a task comes to be due when its date has come, and to wait when it has not.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import { endSchedule } from "./ending.ts";
import {
  dateOfSlot,
  forSlot,
  isSpawning,
  pendingSlot,
  repetitionOf,
} from "./repetition.ts";
import { type Note, patched, type Step } from "./step.ts";

/** Options of {@linkcode settleDate}. */
export interface SettleDateOptions {
  /**
   * Whether it is told how many slots were passed over.
   *
   * @default {true}
   */
  readonly countsMissed?: boolean;
}

/**
 * Puts a task that is `scheduled`, `waiting`, `retry` or `done` where its date
 * says: it is due, or it waits for the date. When slots of its schedule have
 * passed, the catch-up rule decides for which of them it runs, or that it waits
 * for the next one; the date stays the one that was kept, so that the lag tells
 * how late the run is. A task that makes others is never due itself.
 */
export function settleDate(
  task: Task,
  context: EventContext,
  { countsMissed = true }: SettleDateOptions = {},
): Step {
  const { nowMs, rules } = context;
  if (isSpawning(task) && task.firstTriedAtMs === undefined) {
    return toScheduled(task);
  }
  if (task.dateMs > nowMs) return toWait(task);
  const repetition = repetitionOf(task, rules);
  if (repetition === undefined) return toDue(task, task.slotMs);
  const pending = pendingSlot(task, repetition, { nowMs, countsMissed });
  const counted = pending.missed === 0
    ? task
    : patched(task, { missed: task.missed + pending.missed });
  const notes = missedNotes(pending.missed);
  const { rule } = repetition;
  switch (pending.kind) {
    case "run":
      return preceded(notes, toDue(counted, pending.slotMs));
    case "later": {
      const { slotMs } = pending;
      const dateMs = dateOfSlot(slotMs, rule, context);
      const moved = toWait(
        patched(counted, { ...forSlot(task, slotMs), dateMs }),
      );
      return preceded(notes, {
        ...moved,
        notes: [{ type: "moved", nextDateMs: dateMs }],
      });
    }
    case "ended":
      return preceded(notes, endSchedule(counted, context));
  }
}

/** The note of slots that were passed over, if there were any. */
export function missedNotes(missed: number): readonly Note[] {
  return missed === 0 ? [] : [{ type: "missed", amount: missed }];
}

/** A step with notes before its own. */
export function preceded(notes: readonly Note[], step: Step): Step {
  return notes.length === 0
    ? step
    : { ...step, notes: [...notes, ...step.notes] };
}

function toDue(task: Task, slotMs: number): Step {
  const status = task.status === "scheduled" ? "waiting" : task.status;
  return {
    task: patched(task, {
      status,
      isDue: true,
      ...(slotMs === task.slotMs ? {} : forSlot(task, slotMs)),
    }),
    notes: [{ type: "due" }],
  };
}

function toWait(task: Task): Step {
  const status = task.status === "waiting" ? "scheduled" : task.status;
  return { task: patched(task, { status, isDue: false }), notes: [] };
}

function toScheduled(task: Task): Step {
  const waiting = patched(task, { status: "scheduled", isDue: false });
  return { task: waiting, notes: [] };
}
