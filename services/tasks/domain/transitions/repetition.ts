/**
 * The slots of a repeating task: for which one it runs, and which one is next.
 *
 * A run by hand is for no slot of the schedule and uses up none of its
 * repetitions, unless it is the first run. The slot that was ahead is held
 * meanwhile, and the schedule goes on with it as if nothing had been.
 *
 * @module
 */

import { catchUp } from "../catch_up.ts";
import {
  type Grid,
  nextOccurrence,
  occurrenceAfter,
  runsLeft,
  type Schedule,
} from "../schedule.ts";
import type { HeldSlot, RepeatRule, Task } from "../task.ts";
import {
  type EventContext,
  type Patch,
  patched,
  type TaskRules,
} from "../task_event.ts";

/**
 * How late a slot may be found due and still count as on time where slots that
 * passed are not caught up: a restart of the service takes less.
 */
export const ON_TIME_MS = 10_000;

/** Cron knows whole seconds, so a run that begins on time needs no look at it. */
const CRON_STEP_MS = 1_000;

/** How a task repeats. */
export interface Repetition {
  /** As its owner wants it. */
  readonly rule: RepeatRule;
  /** As the calendar has it. */
  readonly schedule: Schedule;
}

/** What becomes of the slot that a task is dated for. */
interface PendingSlot {
  /** The slot that it is for; undefined when all have passed and none follows. */
  readonly slotMs: number | undefined;
  /**
   * Whether it runs for that one; else it waits, as all slots up to now are
   * passed over.
   */
  readonly isRun: boolean;
  /** Slots that are passed over; reading this counts them. */
  readonly missed: number;
}

/**
 * Returns how a task repeats, if it does.
 *
 * @throws {TypeError} when the task repeats and the rules hold no schedule
 */
export function repetitionOf(
  task: Task,
  rules: TaskRules,
): Repetition | undefined {
  const { repeat: rule } = task;
  if (rule === undefined) return undefined;
  const { schedule } = rules;
  if (schedule === undefined) {
    throw new TypeError(
      `Cannot find the next slot of task "${task.id}": its rules hold no schedule`,
    );
  }
  return { rule, schedule };
}

/** Tells whether each slot of the task makes a task of its own. */
export function isSpawning(task: Task): boolean {
  return task.repeat?.mode === "spawn";
}

/** Where the grid of a task's slots begins and what its calendar is. */
export function gridOf(task: Task): Grid {
  return { anchorMs: task.firstDateMs, timezone: task.timezone };
}

/** Runs that count for the schedule's limit and have ended. */
export function finishedRuns(task: Task): number {
  return task.run > 0 ? task.repetitions + 1 : 0;
}

/** Tells whether another slot has come since the one that the task is for. */
export function hasSlotPassed(
  task: Task,
  { schedule }: Repetition,
  nowMs: number,
): boolean {
  const { timing } = schedule;
  if (timing.kind === "cron" && nowMs < task.slotMs + CRON_STEP_MS) {
    return false;
  }
  const nextMs = occurrenceAfter(timing, settledThrough(task), gridOf(task));
  return nextMs !== undefined &&
    nextMs <= Math.min(nowMs, schedule.untilMs ?? Infinity);
}

/**
 * Applies the catch-up rule to a task whose date has come. A run that was tried
 * before keeps its slot, and so does one by hand while the schedule's slot is
 * held, or when the limit no longer allows it. How late a slot is counts
 * from the task's date, if that was moved behind the slot.
 */
export function pendingSlot(
  task: Task,
  repetition: Repetition,
  nowMs: number,
): PendingSlot {
  const { rule, schedule } = repetition;
  const { slotMs, firstTriedAtMs, dateMs } = task;
  const runs = finishedRuns(task);
  if (
    slotMs > nowMs || firstTriedAtMs !== undefined ||
    task.held !== undefined || runsLeft(schedule, { runs }) <= 0 ||
    rule.catchUp === "one" && !hasSlotPassed(task, repetition, nowMs)
  ) {
    return { slotMs, isRun: true, missed: 0 };
  }
  const movedMs = Math.max(0, dateMs - slotMs);
  const found = catchUp(schedule, {
    ...gridOf(task),
    runs,
    scheduledMs: slotMs,
    isPending: true,
    nowMs,
    mode: rule.catchUp,
    windowMs: rule.catchUpWindowMs + movedMs,
    graceMs: ON_TIME_MS + movedMs,
    limit: 1,
    sinceMs: settledThrough(task),
  });
  const [first] = found.runs;
  return {
    slotMs: first ?? found.nextMs,
    isRun: first !== undefined,
    get missed() {
      return found.missed;
    },
  };
}

/** The repetitions when the current run has ended, that run among them. */
export function repetitionsAfterRun(task: Task, schedule: Schedule): number {
  return task.repetitions + (isCounted(task, schedule) ? 1 : 0);
}

/** The fields of a task whose run is for a slot of the schedule that it has now. */
export function forSlot(task: Task, slotMs: number): Patch {
  return {
    slotMs,
    held: undefined,
    isRepetition: task.run > 0 ? true : undefined,
    scheduleSinceMs: undefined,
  };
}

/** The same where it is for another slot than now; else all stays. */
export function forOtherSlot(task: Task, slotMs: number): Patch {
  return slotMs === task.slotMs ? {} : forSlot(task, slotMs);
}

/** The date of a slot: itself when it has passed, else delayed by chance. */
export function dateOfSlot(
  slotMs: number,
  rule: RepeatRule,
  { nowMs, random }: Pick<EventContext, "nowMs" | "random">,
): number {
  return slotMs <= nowMs
    ? slotMs
    : slotMs + Math.floor(random() * rule.jitterMs);
}

/**
 * Tells whether the run is one of the repetitions that the limit counts:
 * neither the first run nor one by hand. A task of an earlier version does not
 * say that; there a run by hand has a slot that is not on the grid, or there
 * are no repetitions left.
 */
export function isCounted(task: Task, { timing, limit }: Schedule): boolean {
  const { run, repetitions, slotMs, isRepetition } = task;
  if (run === 0) return false;
  if (isRepetition !== undefined) return isRepetition;
  if (repetitions >= (limit ?? Infinity)) return false;
  return occurrenceAfter(timing, slotMs - 1, gridOf(task)) === slotMs;
}

/**
 * The instant behind which slots of the task are looked for: its slot, or when
 * its schedule became another one since.
 */
export function settledThrough({ slotMs, scheduleSinceMs }: Task): number {
  return scheduleSinceMs ?? slotMs;
}

/** What follows the end of a run. */
interface NextSlot {
  /** Repetitions, the run that has ended among them. */
  readonly repetitions: number;
  /** The slot of the next run; undefined when the schedule has ended. */
  readonly slotMs: number | undefined;
  /**
   * When that is, if it was settled before.
   *
   * @default {as `dateOfSlot` has it}
   */
  readonly dateMs?: number | undefined;
  /** Slots that are passed over; reading this counts them. */
  readonly missed: number;
  /**
   * How long ago the first slot came that the run was in the way of.
   *
   * @default {none has come}
   */
  readonly lateMs?: number | undefined;
}

/** Finds what follows a run that has just ended. */
export function slotAfterRun(
  task: Task,
  repetition: Repetition,
  nowMs: number,
): NextSlot {
  const { rule, schedule } = repetition;
  const { held } = task;
  const repetitions = repetitionsAfterRun(task, schedule);
  const frame = { ...gridOf(task), runs: repetitions + 1 };
  if (held !== undefined && runsLeft(schedule, frame) > 0) {
    if (held.dateMs > nowMs) return { ...held, repetitions, missed: 0 };
    const pending = pendingSlot(heldRun(task, held), repetition, nowMs);
    const lateMs = nowMs - held.dateMs;
    return {
      repetitions,
      slotMs: pending.slotMs,
      lateMs,
      get missed() {
        return pending.missed;
      },
    };
  }
  const scheduledMs = settledThrough(task);
  const nextMs = nextOccurrence(schedule, { ...frame, afterMs: scheduledMs });
  // A slot that was run before its time has been run, in another schedule, too.
  const soonestMs = nextMs === task.slotMs
    ? nextOccurrence(schedule, { ...frame, afterMs: nextMs })
    : nextMs;
  if (soonestMs === undefined || soonestMs > nowMs) {
    return { repetitions, slotMs: soonestMs, missed: 0 };
  }
  const found = catchUp(schedule, {
    ...frame,
    scheduledMs,
    nowMs,
    mode: rule.catchUp,
    windowMs: rule.catchUpWindowMs,
    limit: 1,
  });
  return {
    repetitions,
    slotMs: found.runs[0] ?? found.nextMs,
    lateMs: nowMs - soonestMs,
    get missed() {
      return found.missed;
    },
  };
}

/** The run for the slot that a run by hand has left where it was. */
function heldRun(task: Task, held: HeldSlot): Task {
  return patched(task, {
    ...held,
    run: task.run + 1,
    held: undefined,
    firstTriedAtMs: undefined,
  });
}
