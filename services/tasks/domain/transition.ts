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
  TaskEvent,
  TaskEventKind,
  Transition,
} from "./task_event.ts";
import {
  callback,
  dependencyFailed,
  followClock,
  repair,
  unblock,
} from "./transitions/service_events.ts";
import { fail, lose } from "./transitions/failure.ts";
import { accept, heartbeat, log, release } from "./transitions/lease.ts";
import {
  cancel,
  pause,
  resume,
  retry,
  run,
} from "./transitions/owner_events.ts";
import { start } from "./transitions/start.ts";
import type { EventOf } from "./transitions/step.ts";
import { complete } from "./transitions/run_end.ts";
import { update } from "./transitions/update.ts";
import { wake } from "./transitions/wake.ts";

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
  return dispatch(event.kind, event, { task, context });
}

type Events = { readonly [Kind in TaskEventKind]: EventOf<Kind> };

type Handlers = {
  readonly [Kind in TaskEventKind]: (
    task: Task,
    event: Events[Kind],
    context: EventContext,
  ) => Transition;
};

const HANDLERS: Handlers = {
  wake,
  start,
  accept,
  heartbeat,
  log,
  complete,
  fail,
  release,
  lose,
  follow_clock: followClock,
  unblock,
  dependency_failed: dependencyFailed,
  cancel,
  pause,
  resume,
  retry,
  run,
  update,
  callback,
  repair,
};

interface Circumstances {
  readonly task: Task;
  readonly context: EventContext;
}

function dispatch<Kind extends TaskEventKind>(
  kind: Kind,
  event: Events[Kind],
  { task, context }: Circumstances,
): Transition {
  return HANDLERS[kind](task, event, context);
}
