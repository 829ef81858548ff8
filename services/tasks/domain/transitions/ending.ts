/**
 * How tasks reach a final status.
 *
 * @module
 */

import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import type { FinalStatus } from "../task_status.ts";
import type { HistoryType } from "../history.ts";
import { type Patch, patched, type Step } from "./step.ts";

const ENDING_TYPES: Readonly<Record<FinalStatus, HistoryType>> = {
  complete: "completed",
  failed: "exhausted",
  canceled: "canceled",
  expired: "expired",
};

/** What a task in a final status has, and what it has no more. */
export function endingOf(
  status: FinalStatus,
  { nowMs, rules }: Pick<EventContext, "nowMs" | "rules">,
): Patch {
  const { retentionMs } = rules;
  return {
    status,
    pausedFrom: undefined,
    isDue: false,
    attempt: undefined,
    firstTriedAtMs: undefined,
    isRepetition: undefined,
    held: undefined,
    scheduleSinceMs: undefined,
    finishedAtMs: nowMs,
    purgeAtMs: retentionMs === undefined ? undefined : nowMs + retentionMs,
  };
}

/** Options of {@linkcode end}. */
export interface EndOptions {
  /** The status it ends in. */
  readonly status: FinalStatus;
  /**
   * Why, for people.
   *
   * @default {no message}
   */
  readonly message?: string;
}

/** Ends a task that has no attempt under way. */
export function end(
  task: Task,
  { status, message }: EndOptions,
  context: EventContext,
): Step {
  const type = ENDING_TYPES[status];
  return {
    task: patched(task, endingOf(status, context)),
    notes: [message === undefined ? { type } : { type, message }],
  };
}

/**
 * Ends a task that waits for a slot when there are no more: as its last run has
 * ended, or as expired when it had none.
 */
export function endSchedule(task: Task, context: EventContext): Step {
  const message = "the schedule has no more slots";
  return end(task, { status: endOfSchedule(task), message }, context);
}

function endOfSchedule({ lastOutcome }: Task): FinalStatus {
  if (lastOutcome === undefined) return "expired";
  return lastOutcome === "succeeded" ? "complete" : "failed";
}
