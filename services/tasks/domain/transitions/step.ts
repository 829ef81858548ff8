/**
 * What transitions are made of: a task with some fields set, and notes that become records of its history.
 *
 * @module
 */

import type { HistoryDraft } from "../history.ts";
import type { Task } from "../task.ts";
import type {
  EventContext,
  TaskEvent,
  TaskEventKind,
  Transition,
} from "../task_event.ts";

/** The event of a kind. */
export type EventOf<Kind extends TaskEventKind> = Extract<
  TaskEvent,
  { readonly kind: Kind }
>;

/** A record of the history without what all records of a transition share. */
export type Note = Omit<HistoryDraft, "atMs" | "status" | "run" | "actor">;

/** Fields to set in a task; the value undefined unsets those that may lack. */
export type Patch = Partial<Task>;

/** A task on its way to what it will be after an event. */
export interface Step {
  /** The task so far; its version is the old one. */
  readonly task: Task;
  /** What there is to tell, in its order. */
  readonly notes: readonly Note[];
  /**
   * The run that the notes belong to.
   *
   * @default {the run before the event}
   */
  readonly run?: number | undefined;
  /**
   * Slots for which a task of its own is to be made.
   *
   * @default {[]}
   */
  readonly spawnSlotsMs?: readonly number[] | undefined;
}

/** Nothing happens, and that is right. */
export const UNCHANGED: Transition = { kind: "unchanged" };

/** Returns a task with fields set. */
export function patched(task: Task, patch: Patch): Task {
  return { ...task, ...patch };
}

/**
 * The outcome of an event that changes the task. All records tell the status
 * that the task has after the event: those in between are never kept.
 */
export function changed(
  before: Task,
  step: Step,
  context: EventContext,
): Transition {
  const { nowMs: atMs, actor } = context;
  const next: Task = {
    ...step.task,
    version: before.version + 1,
    updatedAtMs: atMs,
  };
  const { run = before.run } = step;
  return {
    kind: "changed",
    next,
    history: step.notes.map((note) => ({
      atMs,
      status: next.status,
      run,
      actor,
      ...note,
    })),
    spawnSlotsMs: step.spawnSlotsMs ?? [],
  };
}

/** The outcome of an event that does not fit the task's status. */
export function wrongState(reason: string): Transition {
  return { kind: "refused", code: "wrong_state", reason };
}
