/**
 * What transitions are made of: handlers of events, which give a task with some
 * fields set and notes that become records of its history.
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

type Events = {
  readonly [Kind in TaskEventKind]: Extract<
    TaskEvent,
    { readonly kind: Kind }
  >;
};

/** The event of a kind. */
export type EventOf<Kind extends TaskEventKind> = Events[Kind];

/** Decides what the events of a kind do to a task. */
export type Handler<Kind extends TaskEventKind> = (
  task: Task,
  event: EventOf<Kind>,
  context: EventContext,
) => Outcome;

/** The handlers of some kinds of events, by kind. */
export type Handlers<Kind extends TaskEventKind = TaskEventKind> = {
  readonly [Each in Kind]: Handler<Each>;
};

/** What an event does; undefined when that is nothing, and right so. */
export type Outcome =
  | Step
  | Extract<Transition, { readonly kind: "refused" | "purge" }>
  | undefined;

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

/** Returns a task with fields set. */
export function patched(task: Task, patch: Patch): Task {
  return { ...task, ...patch };
}

/** A step with notes before its own. */
export function preceded(notes: readonly Note[], step: Step): Step {
  return notes.length === 0
    ? step
    : { ...step, notes: [...notes, ...step.notes] };
}

/** The outcome of an event that does not fit the task's status. */
export function wrongState(reason: string): Outcome {
  return { kind: "refused", code: "wrong_state", reason };
}
