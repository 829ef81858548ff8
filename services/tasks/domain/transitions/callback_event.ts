/**
 * What became of the call at a task's end.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { changed, type EventOf, type Note } from "./step.ts";

/** Keeps in the history that the call was made or given up. */
export function callback(
  task: Task,
  { isSent, message, http }: EventOf<"callback">,
  context: EventContext,
): Transition {
  const note: Note = {
    type: isSent ? "callback_sent" : "callback_failed",
    message,
    ...(http === undefined ? {} : { http }),
  };
  return changed(task, { task, notes: [note] }, context);
}
