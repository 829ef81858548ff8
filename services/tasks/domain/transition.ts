/**
 * The status machine: computes what an event makes of a task. It reads no clock
 * and has no side effects. The caller writes the outcome, and computes it again
 * if the task has changed meanwhile.
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
import { runAfter } from "./transitions/run_after.ts";
import { SERVICE_EVENTS } from "./transitions/service_events.ts";
import { calendarChanged, update } from "./transitions/update.ts";
import { WAIT_EVENTS } from "./transitions/wait.ts";
import { wake } from "./transitions/wake.ts";

const HANDLERS: Handlers = {
  wake,
  update,
  run_after: runAfter,
  calendar_changed: calendarChanged,
  ...LEASE_EVENTS,
  ...END_EVENTS,
  ...OWNER_EVENTS,
  ...SERVICE_EVENTS,
  ...WAIT_EVENTS,
};

/**
 * Computes the outcome of an event.
 *
 * A changed task has the next version and the present as its last change. The
 * count and the hash of its history stay the old ones; the caller sets them
 * when it chains the records.
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
 * The outcome of an event that changes the task. All its records state the
 * status after the event, since statuses in between are never stored.
 */
function changed(
  before: Task,
  { task, notes, run = before.run, spawnSlotsMs = [], startWithinMs }: Step,
  { nowMs: atMs, actor }: EventContext,
): Transition {
  const next: Task = {
    ...task,
    version: before.version + 1,
    updatedAtMs: atMs,
  };
  const { status } = next;
  const history = notes.map((note) => ({ atMs, status, run, actor, ...note }));
  return { kind: "changed", next, history, spawnSlotsMs, startWithinMs };
}
