/**
 * What a status in a change of a task asks for.
 *
 * @module
 */

import { isFinal, type Task, type TaskStatus } from "../../domain/task.ts";
import type { TaskEvent } from "../../domain/task_event.ts";

/** What a status asks for. */
export type StatusWish =
  | { readonly kind: "nothing" }
  | {
    readonly kind: "event";
    /** What is to happen. */
    readonly event: TaskEvent;
    /** Whether it happens before the other changes, which it makes possible. */
    readonly isFirst: boolean;
  }
  /** The service alone puts tasks into that status. */
  | { readonly kind: "read_only" }
  /** Not from the status that the task has. */
  | { readonly kind: "wrong_state"; readonly reason: string };

const NOTHING: StatusWish = { kind: "nothing" };

/** Tells what a status asks for; the one that the task has asks for nothing. */
export function statusWish(
  task: Pick<Task, "status">,
  wanted: TaskStatus,
): StatusWish {
  const { status } = task;
  if (wanted === status) return NOTHING;
  switch (wanted) {
    case "canceled":
      return { kind: "event", event: { kind: "cancel" }, isFirst: false };
    case "paused":
      return { kind: "event", event: { kind: "pause" }, isFirst: false };
    case "waiting":
      return waiting(status);
    default:
      return { kind: "read_only" };
  }
}

function waiting(status: TaskStatus): StatusWish {
  if (isFinal(status) || status === "retry") {
    return { kind: "event", event: { kind: "retry" }, isFirst: true };
  }
  if (status === "paused") {
    return { kind: "event", event: { kind: "resume" }, isFirst: false };
  }
  return {
    kind: "wrong_state",
    reason: `Cannot let the task wait: it is "${status}"; to run it before ` +
      "its date, give it another date",
  };
}
