/**
 * Finds the slots of a repeating task: the slot that the current run is for,
 * and the slot of the next run.
 *
 * A run started by hand is for no slot of the schedule and uses up none of its
 * repetitions, unless it is the first run. The slot that was next is held
 * meanwhile, and the schedule goes on with it as if that run had not happened.
 *
 * @module
 */

import { catchUp, type CatchUpOptions } from "../catch_up.ts";
import {
  createClosures,
  findOccurrence,
  type Grid,
  nextOccurrence,
  occurrenceAfter,
  runsLeft,
  type Schedule,
} from "../schedule.ts";
import type { HeldSlot, RepeatRule, Task } from "../task.ts";
import { type EventContext, type Patch, patched } from "../task_event.ts";

/**
 * How many milliseconds after its date a run of a task of an earlier version is
 * still on time.
 */
const DEFAULT_ON_TIME_MS = 10_000;

/**
 * The finest step of a cron schedule: a run that begins within it cannot be
 * late, so its schedule need not be searched.
 */
const CRON_STEP_MS = 1_000;

/** How a task repeats, as written and parsed. */
export interface Repetition {
  /** The rule as the owner of the task wrote it. */
  readonly rule: RepeatRule;
  /** The parsed schedule that finds the slots. */
  readonly schedule: Schedule;
}

/** What the catch-up rule decides about a task whose date has come. */
interface PendingSlot {
  /**
   * The slot that the run is for; undefined when all slots have passed and no
   * other follows.
   */
  readonly slotMs: number | undefined;
  /**
   * Whether the task runs for `slotMs` now. Otherwise it waits for that slot,
   * since all slots up to now are missed.
   */
  readonly isRun: boolean;
  /** How many slots are missed. Reading this property counts them. */
  readonly missed: number;
}

/**
 * Tells whether the task is a schedule that creates a task of its own for each
 * slot.
 */
export function isSpawning(task: Task): boolean {
  return task.repeat?.mode === "spawn";
}

/**
 * How many milliseconds after its date a run of a rule may begin and still
 * count as on time.
 */
export function getOnTimeMs(
  { onTimeMs }: Pick<RepeatRule, "onTimeMs">,
): number {
  return onTimeMs ?? DEFAULT_ON_TIME_MS;
}

/** What decides how late a run of a repeating task may begin. */
export type LatenessRule = Pick<
  RepeatRule,
  "catchUp" | "catchUpWindowMs" | "onTimeMs"
>;

/** How late a run of a rule may begin, as `catchUp()` takes it. */
type Lateness =
  & Pick<CatchUpOptions, "mode" | "windowMs">
  & { readonly graceMs: number };

/**
 * How late a run of a rule may begin. A run on time is never missed, however
 * short the window of the mode "all" is.
 *
 * @param movedMs by how much the date of the run was moved behind its slot
 */
export function toLateness(rule: LatenessRule, movedMs = 0): Lateness {
  const { catchUp: mode, catchUpWindowMs } = rule;
  const onTimeMs = getOnTimeMs(rule);
  const windowMs = Math.max(catchUpWindowMs, onTimeMs) + movedMs;
  return { mode, windowMs, graceMs: onTimeMs + movedMs };
}

/**
 * The instant from which on it is too late to begin the run that a task is due
 * for: its slot is missed then. Infinity when the run may begin at any time: in
 * the mode "one", and when the run was tried before or was started by hand.
 */
export function lateFromMs(task: Task): number {
  const { repeat: rule, dateMs, slotMs, startWithinMs, held } = task;
  const isJudged = task.firstTriedAtMs === undefined && held === undefined &&
    task.isRepetition !== false;
  if (!isJudged) return Infinity;
  if (rule === undefined) return dateMs + (startWithinMs ?? Infinity) + 1;
  // Whatever its limit allowed when it became due, the run is not judged.
  const hasRunsLeft = finishedRuns(task) <= (rule.limit ?? Infinity);
  if (rule.catchUp === "one" || isSpawning(task) || !hasRunsLeft) {
    return Infinity;
  }
  const { mode, windowMs, graceMs } = toLateness(rule);
  const allowedMs = mode === "none" ? graceMs : windowMs;
  return Math.max(dateMs, slotMs) + allowedMs + 1;
}

/** The start and the time zone of a task's slots. */
export function toGrid(task: Task): Grid {
  return { anchorMs: task.firstDateMs, timezone: task.timezone };
}

/** How many runs that count against the schedule's limit have ended. */
export function finishedRuns(task: Task): number {
  return task.run > 0 ? task.repetitions + 1 : 0;
}

/**
 * Tells whether the slot of a task has become a closed time since it was found,
 * because a calendar has changed. A run by hand is for no slot.
 */
export function isSlotClosed(
  task: Task,
  { schedule: { timing } }: Repetition,
): boolean {
  const { slotMs, isRepetition } = task;
  const grid = toGrid(task);
  return isRepetition !== false &&
    createClosures(timing, grid)?.at(slotMs) !== undefined &&
    findOccurrence(timing, slotMs - 1, grid) === slotMs;
}

/** Tells whether another slot has passed since the one that the task is for. */
export function hasSlotPassed(
  task: Task,
  { schedule }: Repetition,
  nowMs: number,
): boolean {
  const { timing } = schedule;
  if (timing.kind === "cron" && nowMs < task.slotMs + CRON_STEP_MS) {
    return false;
  }
  const nextMs = occurrenceAfter(timing, settledThrough(task), toGrid(task));
  return nextMs !== undefined &&
    nextMs <= Math.min(nowMs, schedule.untilMs ?? Infinity);
}

/**
 * Applies the catch-up rule to a task whose date has come. A run that was tried
 * before keeps its slot. So does a run started by hand, or when the limit
 * allows no further repetition. How late a slot is counts from the task's date,
 * if that was moved to after the slot.
 */
export function pendingSlot(
  task: Task,
  repetition: Repetition,
  nowMs: number,
): PendingSlot {
  const { rule, schedule } = repetition;
  const { slotMs, firstTriedAtMs, dateMs } = task;
  const runs = finishedRuns(task);
  const isClosed = isSlotClosed(task, repetition);
  if (
    slotMs > nowMs || firstTriedAtMs !== undefined ||
    task.held !== undefined || task.isRepetition === false ||
    !isClosed && runsLeft(schedule, { runs }) <= 0 ||
    rule.catchUp === "one" && !isClosed &&
      !hasSlotPassed(task, repetition, nowMs)
  ) {
    return { slotMs, isRun: true, missed: 0 };
  }
  // That the date of one slot was moved does not count for the slots after it.
  const movedMs = nowMs < lateFromMs(task) ? Math.max(0, dateMs - slotMs) : 0;
  const found = catchUp(schedule, {
    ...toGrid(task),
    runs,
    scheduledMs: slotMs,
    isPending: !isClosed,
    nowMs,
    ...toLateness(rule, movedMs),
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

/**
 * How many repetitions the task has had once its current run has ended, that
 * run included.
 */
export function repetitionsAfterRun(task: Task, schedule: Schedule): number {
  return task.repetitions + (isCounted(task, schedule) ? 1 : 0);
}

/**
 * The fields to set in a task whose run is for a certain slot of its present
 * schedule.
 */
export function forSlot(task: Task, slotMs: number): Patch {
  return {
    slotMs,
    held: undefined,
    isRepetition: task.run > 0 ? true : undefined,
    scheduleSinceMs: undefined,
  };
}

/**
 * Like {@linkcode forSlot}, but changes nothing when the task already has that
 * slot.
 */
export function forOtherSlot(task: Task, slotMs: number): Patch {
  return slotMs === task.slotMs ? {} : forSlot(task, slotMs);
}

/**
 * The date of a slot: the slot itself when it has passed, otherwise delayed by
 * the jitter.
 */
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
 * neither the first run nor one started by hand. A task of an earlier version
 * does not store that; its run was started by hand if its slot is not on the
 * schedule, or if no repetitions are left.
 */
export function isCounted(task: Task, { timing, limit }: Schedule): boolean {
  const { run, repetitions, slotMs, isRepetition } = task;
  if (run === 0) return false;
  if (isRepetition !== undefined) return isRepetition;
  if (repetitions >= (limit ?? Infinity)) return false;
  return occurrenceAfter(timing, slotMs - 1, toGrid(task)) === slotMs;
}

/**
 * The instant after which slots of the task are searched: its slot, or the time
 * when its schedule was changed after that slot was found.
 */
export function settledThrough({ slotMs, scheduleSinceMs }: Task): number {
  return scheduleSinceMs ?? slotMs;
}

/** What follows the end of a run. */
interface NextSlot {
  /** How many repetitions the task has had, the run that ended included. */
  readonly repetitions: number;
  /** The slot of the next run; undefined when the schedule has ended. */
  readonly slotMs: number | undefined;
  /**
   * The date of the next run, if it was decided before.
   *
   * @default {computed by `dateOfSlot`}
   */
  readonly dateMs?: number | undefined;
  /** How many slots are missed. Reading this property counts them. */
  readonly missed: number;
  /**
   * How many milliseconds ago the first slot passed that the run kept from
   * starting.
   *
   * @default {no slot has passed}
   */
  readonly lateMs?: number | undefined;
}

/** Finds the next slot after a run that has just ended. */
export function slotAfterRun(
  task: Task,
  repetition: Repetition,
  nowMs: number,
): NextSlot {
  const { rule, schedule } = repetition;
  const { held } = task;
  const repetitions = repetitionsAfterRun(task, schedule);
  const frame = { ...toGrid(task), runs: repetitions + 1 };
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
  // A slot that was run before its time stays used up, even after a change to
  // another schedule.
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
    ...toLateness(rule),
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

/** The next run, for the slot that was held during a run started by hand. */
function heldRun(task: Task, held: HeldSlot): Task {
  return patched(task, {
    ...held,
    run: task.run + 1,
    isRepetition: true,
    held: undefined,
    firstTriedAtMs: undefined,
  });
}
