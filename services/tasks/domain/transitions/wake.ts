/**
 * What happens when the clock looks at a task: its date, its expiry or its lease
 * may have come, and schedules make tasks of their own.
 *
 * @module
 */

import { type CatchUp, catchUp } from "../catch_up.ts";
import { countOccurrences, nextOccurrence } from "../schedule.ts";
import { type Attempt, isFinal, type Task } from "../task.ts";
import {
  type EventContext,
  type EventOf,
  type Note,
  type Outcome,
  patched,
  preceded,
  type Step,
} from "../task_event.ts";
import {
  dateOfSlot,
  finishedRuns,
  forSlot,
  gridOf,
  isSpawning,
  ON_TIME_MS,
  type Repetition,
  repetitionOf,
  settledThrough,
} from "./repetition.ts";
import { end, missedNotes, settleDate } from "./due.ts";
import { hasAttempt, type RunningTask } from "./lease.ts";
import { failAttempt, loseAttempt } from "./run_end.ts";
import { requeueUnheld } from "./service_events.ts";

/** Most tasks that one transition makes; the others follow at once. */
const MAX_SPAWNED = 100;

/**
 * Most slots that passed for which tasks are made, the latest of them. A window
 * may be years long, and a task for each of its seconds is of no use.
 */
const MAX_CAUGHT_UP = 10_000;

/** How exactly the window of the latest slots is found; slots lie no closer. */
const WINDOW_STEP_MS = 1_000;

/**
 * Applies the catch-up rule to the slots that have come. Tasks are made for the
 * first of them, as many as there is room for; the others are passed over, and
 * told apart from those that the rule passes over.
 */
function spawnSlots(
  task: Task,
  { rule, schedule }: Repetition,
  { nowMs, spawnRoom = Infinity }: Pick<EventContext, "nowMs" | "spawnRoom">,
): CatchUp & { readonly withoutRoom: number } {
  const { slotMs: scheduledMs, dateMs } = task;
  // A schedule that was moved by hand to before its slot is for that slot.
  const throughMs = Math.max(nowMs, scheduledMs);
  const movedMs = Math.max(0, dateMs - scheduledMs);
  const frame = { ...gridOf(task), runs: finishedRuns(task) };
  const sinceMs = settledThrough(task);
  const count = (afterMs: number): number =>
    countOccurrences(schedule.timing, {
      afterMs: Math.max(afterMs, sinceMs),
      throughMs: Math.min(throughMs, schedule.untilMs ?? Infinity),
    }, frame);
  const limit = Math.min(MAX_SPAWNED, spawnRoom);
  const windowMs = rule.catchUpWindowMs + movedMs;
  const come = catchUp(schedule, {
    ...frame,
    scheduledMs,
    isPending: true,
    nowMs: throughMs,
    mode: rule.catchUp,
    windowMs: rule.catchUp === "all"
      ? windowOfLatest(
        Math.min(windowMs, throughMs - scheduledMs),
        (windowMs) => count(throughMs - windowMs - 1),
      )
      : windowMs,
    graceMs: ON_TIME_MS + movedMs,
    limit,
    sinceMs,
  });
  const runs = come.runs.slice(0, limit);
  const leftMs = come.runs[limit] ?? come.nextMs;
  const isRoomy = limit === MAX_SPAWNED || leftMs === undefined ||
    leftMs > throughMs;
  if (isRoomy) return { ...come, withoutRoom: 0 };
  return {
    runs,
    nextMs: nextOccurrence(schedule, {
      ...frame,
      afterMs: throughMs,
      runs: frame.runs + runs.length,
    }),
    missed: come.missed,
    withoutRoom: 1 + count(leftMs),
  };
}

/** The window, or as much of it as holds the latest slots that are caught up. */
function windowOfLatest(
  windowMs: number,
  count: (windowMs: number) => number,
): number {
  if (count(windowMs) <= MAX_CAUGHT_UP) return windowMs;
  let [fittingMs, tooLongMs] = [0, windowMs];
  while (tooLongMs - fittingMs > WINDOW_STEP_MS) {
    const middleMs = Math.floor((fittingMs + tooLongMs) / 2);
    if (count(middleMs) <= MAX_CAUGHT_UP) fittingMs = middleMs;
    else tooLongMs = middleMs;
  }
  return fittingMs;
}

/**
 * Makes tasks for the slots that have come, as the catch-up rule says, and moves
 * the schedule to the next one; without one it is complete.
 */
function spawn(
  task: Task,
  repetition: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  const { runs, nextMs, missed, withoutRoom } = spawnSlots(
    task,
    repetition,
    context,
  );
  const slots = runs.map((slotMs) => Math.min(slotMs, nowMs));
  const run = task.run + slots.length;
  const counted = patched(task, {
    run,
    repetitions: slots.length === 0
      ? task.repetitions
      : finishedRuns(task) + slots.length - 1,
    missed: task.missed + missed + withoutRoom,
  });
  const message = "the plan has no room for more active tasks";
  const spawned: Note = { type: "spawned", amount: slots.length };
  const notes = [
    ...missedNotes(missed),
    ...(slots.length === 0 ? [] : [spawned]),
    ...missedNotes(withoutRoom, message),
  ];
  if (nextMs === undefined) {
    const ended = end(counted, { status: "complete" }, context);
    return { ...preceded(notes, ended), spawnSlotsMs: slots };
  }
  const nextDateMs = dateOfSlot(nextMs, repetition.rule, context);
  return {
    task: patched(counted, {
      status: "scheduled",
      isDue: false,
      ...forSlot(counted, nextMs),
      dateMs: nextDateMs,
    }),
    notes: [...notes, { type: "repeated", nextDateMs }],
    spawnSlotsMs: slots,
  };
}

/** The code of the failure of an attempt that took too long. */
const TIMED_OUT = "timed_out";

/**
 * Does what has come: the end of an attempt, the expiry, the date, the end in
 * store. Each instant at which `placementOf` has a task looked at is answered
 * with a change, so that the clock never looks twice.
 */
export function wake(
  task: Task,
  _event: EventOf<"wake">,
  context: EventContext,
): Outcome {
  const { nowMs } = context;
  const { status, purgeAtMs = Infinity, expiresAtMs = Infinity } = task;
  if (isFinal(status)) {
    return nowMs >= purgeAtMs ? { kind: "purge" } : undefined;
  }
  if (status === "paused") return undefined;
  if (status === "running") return wakeRunning(task, context);
  if (nowMs >= expiresAtMs) return expire(task, context);
  return status === "blocked" ? undefined : wakeDated(task, context);
}

function wakeRunning(task: Task, context: EventContext): Step | undefined {
  if (!hasAttempt(task)) {
    return requeueUnheld(task, "it was running without a lease");
  }
  const { expiresAtMs, deadlineMs } = task.attempt;
  if (context.nowMs < Math.min(expiresAtMs, deadlineMs)) return undefined;
  return deadlineMs <= expiresAtMs && !isSilent(task.attempt)
    ? timeOut(task, context)
    : loseAttempt(task, "the lease has ended", context);
}

/**
 * Whether the whole lease passed without a sign of life: its worker is gone,
 * even where the time for the attempt ends at the same moment.
 */
function isSilent(attempt: Attempt): boolean {
  const { bootId, seenAtMs, startedAtMs, leaseMs, deadlineMs } = attempt;
  return bootId === undefined && seenAtMs === undefined &&
    startedAtMs + leaseMs <= deadlineMs;
}

function timeOut(task: RunningTask, context: EventContext): Step {
  const limitMs = task.attempt.deadlineMs - task.attempt.startedAtMs;
  return failAttempt(task, {
    type: "timed_out",
    failure: { code: TIMED_OUT },
    message: `the attempt took longer than ${limitMs} ms`,
  }, context);
}

/**
 * A run that has not begun expires. A retry is part of one that has, so the run
 * has failed; a repeating task between two runs is complete.
 */
function expire(task: Task, context: EventContext): Step {
  switch (task.status) {
    case "retry": {
      const message = "the task expired before the next retry";
      const failed: Task = { ...task, lastOutcome: "failed" };
      return end(failed, { status: "failed", message }, context);
    }
    case "done": {
      const message = "the task expired before the next repetition";
      return end(task, { status: "complete", message }, context);
    }
    default:
      return end(task, { status: "expired" }, context);
  }
}

function wakeDated(task: Task, context: EventContext): Step | undefined {
  const { dateMs, isDue } = task;
  const hasCome = context.nowMs >= dateMs;
  if (hasCome === isDue) return undefined;
  if (!hasCome) {
    // It can't be started now, and only a task that is not due is looked at again.
    const message = "the clock was set back";
    const { task: waiting } = settleDate(task, context);
    const notes = [{ type: "moved", message, nextDateMs: dateMs }] as const;
    return { task: waiting, notes };
  }
  const repetition = repetitionOf(task, context.rules);
  return repetition !== undefined && isSpawning(task) &&
      task.status === "scheduled" && task.firstTriedAtMs === undefined
    ? spawn(task, repetition, context)
    : settleDate(task, context);
}
