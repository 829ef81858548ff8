/**
 * The begin of an attempt.
 *
 * @module
 */

import type { Attempt, Task } from "../task.ts";
import type { EventContext, Transition } from "../task_event.ts";
import { missedNotes } from "./due.ts";
import { attemptNote } from "./lease.ts";
import {
  forSlot,
  hasSlotPassed,
  pendingSlot,
  repetitionOf,
} from "./repetition.ts";
import {
  changed,
  type EventOf,
  type Note,
  patched,
  wrongState,
} from "./step.ts";

/**
 * How long the lease of the service's own call outlives the deadline. The
 * service ends its call at the deadline itself; were the lease to end first, a
 * call that takes its full time would count as lost.
 */
export const CALL_SLACK_MS = 10_000;

const ID_PREFIX_LENGTH = "tsk_".length;

/**
 * Gives the task to a worker: when it is due, and never before its date, even if
 * it was due already and the clock was set back.
 */
export function start(
  task: Task,
  event: EventOf<"start">,
  context: EventContext,
): Transition {
  const refusal = refusalOf(task, context.nowMs);
  if (refusal !== undefined) return wrongState(`Cannot start: ${refusal}`);
  const { nowMs } = context;
  const lagMs = nowMs - task.dateMs;
  const late = lateness(task, context);
  const attempt = attemptOf(task, event, context);
  const running = patched(task, {
    status: "running",
    isDue: false,
    attempt,
    fence: task.fence + 1,
    lagMs,
    ...(late.slotMs === task.slotMs ? {} : forSlot(task, late.slotMs)),
    missed: task.missed + late.missed,
    startedAtMs: nowMs,
    firstTriedAtMs: task.firstTriedAtMs ?? nowMs,
  });
  const note = attemptNote(attempt, { type: "started", amount: lagMs });
  const notes: readonly Note[] = late.hasSlipped
    ? [
      note,
      { type: "slipped", amount: lagMs },
      ...missedNotes(late.missed),
    ]
    : [note];
  return changed(task, { task: running, notes }, context);
}

function refusalOf(task: Task, nowMs: number): string | undefined {
  const { status, isDue, dateMs, expiresAtMs = Infinity } = task;
  if (status !== "waiting" && status !== "retry" && status !== "done") {
    return `the task is "${status}"`;
  }
  if (!isDue || nowMs < dateMs) return "its date has not come";
  return nowMs >= expiresAtMs ? "it has expired" : undefined;
}

function attemptOf(
  task: Task,
  event: EventOf<"start">,
  { nowMs, rules }: EventContext,
): Attempt {
  const { tokenHash, bootId, leaseMs, instance } = event;
  const deadlineMs = nowMs + rules.timeoutMs;
  return {
    id: `lse_${task.id.slice(ID_PREFIX_LENGTH)}_${task.fence + 1}`,
    tokenHash,
    bootId,
    startedAtMs: nowMs,
    expiresAtMs: bootId === undefined
      ? Math.min(nowMs + leaseMs, deadlineMs)
      : deadlineMs + CALL_SLACK_MS,
    deadlineMs,
    leaseMs,
    instance,
  };
}

interface Lateness {
  readonly slotMs: number;
  readonly missed: number;
  /** Whether the run begins after a slot behind its own. */
  readonly hasSlipped: boolean;
}

/**
 * A run that begins later than the next slot was due is for that one too, where
 * one run is to do for all slots that passed.
 */
function lateness(task: Task, { nowMs, rules }: EventContext): Lateness {
  const { slotMs } = task;
  const onTime: Lateness = { slotMs, missed: 0, hasSlipped: false };
  const repetition = repetitionOf(task, rules);
  if (
    repetition === undefined || task.firstTriedAtMs !== undefined ||
    task.held !== undefined || slotMs > nowMs
  ) {
    return onTime;
  }
  if (!hasSlotPassed(task, repetition, nowMs)) {
    // The slot is a later one than the date when the clock has moved it on.
    return { ...onTime, hasSlipped: task.dateMs < slotMs };
  }
  const slipped = { ...onTime, hasSlipped: true };
  if (repetition.rule.catchUp !== "one") return slipped;
  const pending = pendingSlot(task, repetition, { nowMs });
  if (pending.kind !== "run") return slipped;
  return { ...slipped, slotMs: pending.slotMs, missed: pending.missed };
}
