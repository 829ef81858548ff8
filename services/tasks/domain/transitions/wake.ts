/**
 * Handles the event that the clock looks at a task: its date, its expiry or the
 * end of its lease may have been reached, and schedules create their tasks.
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
import { findRepetition } from "../rules.ts";
import { describeAwaited } from "../wait.ts";
import {
  dateOfSlot,
  finishedRuns,
  forSlot,
  isSlotClosed,
  isSpawning,
  lateFromMs,
  type Repetition,
  settledThrough,
  toGrid,
  toLateness,
} from "./repetition.ts";
import { end, missedNotes, settleDate } from "./due.ts";
import { hasAttempt, type RunningTask } from "./lease.ts";
import { failAttempt, loseAttempt } from "./run_end.ts";
import { requeueUnheld } from "./service_events.ts";
import { endWait, isAwaiting } from "./wait.ts";

/**
 * The most tasks that one event creates; the clock creates the others right
 * after.
 */
const MAX_SPAWNED = 100;

/**
 * The most passed slots for which tasks are created; older slots are missed. A
 * catch-up window may be years long, and a task for each of its seconds is of
 * no use.
 */
const MAX_CAUGHT_UP = 10_000;

/**
 * The precision to which the catch-up window is shortened; slots are at least
 * this far apart.
 */
const WINDOW_STEP_MS = 1_000;

/** The slots that create tasks, and those that are missed. */
interface SpawnedSlots extends CatchUp {
  /** How many slots are missed because the plan has no room for their tasks. */
  readonly withoutRoom: number;
  /** How many milliseconds after its slot each task may still start. */
  readonly startWithinMs: number | undefined;
}

/**
 * Applies the catch-up rule to the slots that have passed. Tasks are created
 * for the first of them, as many as the tenant's quota has room for. The others
 * are missed, and counted apart from those that the rule misses.
 */
function spawnSlots(
  task: Task,
  repetition: Repetition,
  { nowMs, spawnRoom = Infinity }: Pick<EventContext, "nowMs" | "spawnRoom">,
): SpawnedSlots {
  const { rule, schedule } = repetition;
  const { slotMs: scheduledMs, dateMs } = task;
  // A schedule that was moved by hand to before its next slot runs for that
  // slot.
  const throughMs = Math.max(nowMs, scheduledMs);
  const movedMs = Math.max(0, dateMs - scheduledMs);
  const frame = { ...toGrid(task), runs: finishedRuns(task) };
  const sinceMs = settledThrough(task);
  const count = (afterMs: number): number =>
    countOccurrences(schedule.timing, {
      afterMs: Math.max(afterMs, sinceMs),
      throughMs: Math.min(throughMs, schedule.untilMs ?? Infinity),
    }, frame);
  const limit = Math.min(MAX_SPAWNED, spawnRoom);
  const lateness = toLateness(rule, movedMs);
  const come = catchUp(schedule, {
    ...frame,
    scheduledMs,
    isPending: !isSlotClosed(task, repetition),
    nowMs: throughMs,
    ...lateness,
    windowMs: lateness.mode === "all"
      ? windowOfLatest(
        Math.min(lateness.windowMs, throughMs - scheduledMs),
        (windowMs) => count(throughMs - windowMs - 1),
      )
      : lateness.windowMs,
    limit,
    sinceMs,
  });
  const runs = come.runs.slice(0, limit);
  const leftMs = come.runs[limit] ?? come.nextMs;
  const isRoomy = limit === MAX_SPAWNED || leftMs === undefined ||
    leftMs > throughMs;
  const startWithinMs = lateness.mode === "none" ? lateness.graceMs : undefined;
  if (isRoomy) return { ...come, withoutRoom: 0, startWithinMs };
  return {
    runs,
    startWithinMs,
    nextMs: nextOccurrence(schedule, {
      ...frame,
      afterMs: throughMs,
      runs: frame.runs + runs.length,
    }),
    missed: come.missed,
    withoutRoom: 1 + count(leftMs),
  };
}

/**
 * The catch-up window, shortened to hold at most the latest
 * {@linkcode MAX_CAUGHT_UP} slots.
 */
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
 * Creates tasks for the slots that have passed, by the catch-up rule, and moves
 * the schedule to its next slot. Without a next slot the schedule is complete.
 */
function spawn(
  task: Task,
  repetition: Repetition,
  context: EventContext,
): Step {
  const { nowMs } = context;
  const { runs, nextMs, missed, withoutRoom, startWithinMs } = spawnSlots(
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
    return { ...preceded(notes, ended), spawnSlotsMs: slots, startWithinMs };
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
    startWithinMs,
  };
}

/** The error code of an attempt that took too long. */
const TIMED_OUT = "timed_out";

/**
 * Handles the instant that a task has reached: the end of an attempt, the
 * expiry, the date, or the time to delete the task. Each instant at which
 * `computePlacement` has the clock look at a task leads to a change, so that the
 * clock never finds the same task again.
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
 * Tells whether the whole lease passed without a heartbeat. The worker then
 * counts as lost, even when the attempt's deadline is at the same moment.
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
 * Applies the catch-up rule to a due task that no worker has taken while it was
 * on time. A task that a schedule made for the slot expires.
 */
function missSlot(task: Task, context: EventContext): Step | undefined {
  if (context.nowMs < lateFromMs(task)) return undefined;
  if (task.repeat !== undefined) return settleDate(task, context);
  const missed = patched(task, { missed: task.missed + 1 });
  return preceded(
    missedNotes(1, "no worker has taken it while it was on time"),
    end(missed, { status: "expired" }, context),
  );
}

/**
 * Ends a task that has reached its expiry. A run that has not begun expires. A
 * task in `retry` has begun its run, so it failed; a repeating task between two
 * runs is complete.
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
    default: {
      const message = isAwaiting(task)
        ? `it waited for ${describeAwaited(task.wait.for)}`
        : undefined;
      return end(task, { status: "expired", message }, context);
    }
  }
}

function wakeDated(task: Task, context: EventContext): Step | undefined {
  const { dateMs, isDue } = task;
  const hasCome = context.nowMs >= dateMs;
  if (hasCome && isDue) return missSlot(task, context);
  if (hasCome === isDue) return undefined;
  if (!hasCome) {
    // The task cannot start now, and the clock looks again only at a task that
    // is not due.
    const message = "the clock was set back";
    const { task: waiting } = settleDate(task, context);
    const notes = [{ type: "moved", message, nextDateMs: dateMs }] as const;
    return { task: waiting, notes };
  }
  if (isAwaiting(task)) return endWait(task, context);
  const repetition = findRepetition(task, context.rules);
  return repetition !== undefined && isSpawning(task) &&
      task.status === "scheduled" && task.firstTriedAtMs === undefined
    ? spawn(task, repetition, context)
    : settleDate(task, context);
}
