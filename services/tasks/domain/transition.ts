/**
 * The status machine: what an event makes of a task. It reads no clock and
 * touches nothing; who calls it writes the outcome, and takes it back if the
 * task has changed meanwhile.
 *
 * @module
 */

import type { Task } from "./task.ts";
import type {
  EventContext,
  EventOf,
  Handlers,
  Outcome,
  Step,
  TaskEvent,
  TaskEventKind,
  Transition,
} from "./task_event.ts";
import { LEASE_EVENTS } from "./transitions/lease.ts";
import { OWNER_EVENTS } from "./transitions/owner_events.ts";
import { END_EVENTS } from "./transitions/run_end.ts";
import { SERVICE_EVENTS } from "./transitions/service_events.ts";
import { update } from "./transitions/update.ts";
import { wake } from "./transitions/wake.ts";

const HANDLERS: Handlers = {
  wake,
  update,
  ...LEASE_EVENTS,
  ...END_EVENTS,
  ...OWNER_EVENTS,
  ...SERVICE_EVENTS,
};

/**
 * Tells what comes of an event.
 *
 * A changed task has the next version and the present as its last change; the
 * count and the hash of its history are left for the caller that chains the records.
 *
 * @throws {TypeError} when the task repeats and the rules hold no schedule
 */
export function transition(
  task: Task,
  event: TaskEvent,
  context: EventContext,
): Transition {
  const outcome = handle(event.kind, event, { task, context });
  if (outcome === undefined) return { kind: "unchanged" };
  return "kind" in outcome ? outcome : changed(task, outcome, context);
}

function handle<Kind extends TaskEventKind>(
  kind: Kind,
  event: EventOf<Kind>,
  { task, context }: { readonly task: Task; readonly context: EventContext },
): Outcome {
  return HANDLERS[kind](task, event, context);
}

/**
 * The outcome of an event that changes the task. All records tell the status
 * that the task has after the event: those in between are never kept.
 */
function changed(
  before: Task,
  { task, notes, run = before.run, spawnSlotsMs = [] }: Step,
  { nowMs: atMs, actor }: EventContext,
): Transition {
  const next: Task = {
    ...task,
    version: before.version + 1,
    updatedAtMs: atMs,
  };
  const { status } = next;
  const history = notes.map((note) => ({ atMs, status, run, actor, ...note }));
  return { kind: "changed", next, history, spawnSlotsMs };
}
