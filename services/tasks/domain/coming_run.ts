/**
 * Computes when a task runs next, with the rules that the status machine will
 * apply: for a task that is created or changed, and for any task in an answer.
 *
 * @module
 */

import { catchUp } from "./catch_up.ts";
import {
  type Calendars,
  countOccurrences,
  nextOccurrence,
  parseTiming,
  type Schedule,
} from "./schedule.ts";
import { type HeldSlot, isFinal, type RepeatRule, type Task } from "./task.ts";
import { findRepetition, resolveRules, type RuleCache } from "./rules.ts";
import {
  finishedRuns,
  forSlot,
  lateFromMs,
  pendingSlot,
  type Repetition,
  slotAfterRun,
  toGrid,
  toLateness,
} from "./transitions/repetition.ts";
import { patched } from "./task_event.ts";

/** The coming run of a task. */
export interface ComingRun {
  /**
   * The date of the run when no schedule decides it, in milliseconds since the
   * epoch.
   */
  readonly atMs: number;
  /** Whether `atMs` is the date of the run whatever the schedule says. */
  readonly isFixed: boolean;
  /** The instant that the slots of the schedule are counted from. */
  readonly anchorMs: number;
  /** The run is at the first slot after this instant. */
  readonly afterMs: number;
  /**
   * The slot that the run had before the change. If the run gets the same slot
   * again, it keeps its date.
   */
  readonly kept?: HeldSlot | undefined;
}

/** What decides about the coming run, besides the task. */
interface ComingRunOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The date that the client asks for; undefined when it asks for no date. */
  readonly dateMs: number | undefined;
  /** Whether the change gives the task a schedule or the time zone of one. */
  readonly isRescheduled: boolean;
  /**
   * Whether the change first reopens a task that has ended, which makes it due
   * now.
   */
  readonly isReopened: boolean;
}

/**
 * Tells where to look for the coming run of a task: at a fixed date, or at the
 * first slot of its schedule after an instant.
 *
 * @param task undefined for a task that is being created
 */
export function comingRun(
  task: Task | undefined,
  options: ComingRunOptions,
): ComingRun {
  const { nowMs, dateMs, isRescheduled, isReopened } = options;
  if (task === undefined) return runFrom(dateMs ?? nowMs);
  const { firstDateMs: anchorMs, run } = task;
  // A run started by hand holds back a slot, which still waits behind it.
  const { slotMs, dateMs: keptMs } = task.held ?? task;
  const atMs = dateMs ?? (isReopened ? nowMs : task.dateMs);
  const isEnded = isFinal(task.status) && !isReopened;
  const stays = dateMs === undefined
    ? !isRescheduled || isReopened || isAwaited(task)
    : !isRescheduled && (isReopened || run > 0);
  if (stays || isEnded || task.firstTriedAtMs !== undefined) {
    return { atMs, isFixed: true, anchorMs, afterMs: atMs - 1 };
  }
  if (dateMs !== undefined) return runFrom(dateMs);
  // A slot of this very instant may have been run already, unless the task has
  // had no run yet.
  const presentMs = run === 0 ? nowMs - 1 : nowMs;
  const afterMs = Math.min(presentMs, slotMs - 1);
  const kept = { slotMs, dateMs: keptMs };
  return { atMs, isFixed: false, anchorMs, afterMs, kept };
}

/** What the date of a coming run depends on, besides the run. */
interface ComingDateOptions {
  /** How the task repeats, if it does. */
  readonly repeat: RepeatRule | undefined;
  /** The zone of its schedule. */
  readonly timezone: string;
  /** The calendars that the rule names. */
  readonly calendars: Calendars;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The date of a coming run. */
interface ComingDate {
  /** The earliest instant, in milliseconds since the epoch. */
  readonly earliestMs: number;
  /** The latest instant: jitter may delay the runs of a schedule. */
  readonly latestMs: number;
}

/**
 * Finds the date of the coming run. The date of a late run lies in the past.
 */
export function comingDate(
  coming: ComingRun,
  options: ComingDateOptions,
): ComingDate {
  const { repeat, nowMs } = options;
  const slotMs = repeat === undefined || coming.isFixed
    ? undefined
    : comingSlot(coming, { ...options, repeat });
  if (slotMs === undefined) {
    return { earliestMs: coming.atMs, latestMs: coming.atMs };
  }
  if (slotMs === coming.kept?.slotMs) {
    const { dateMs } = coming.kept;
    return { earliestMs: dateMs, latestMs: dateMs };
  }
  // Jitter delays neither a slot that has passed nor one that was asked for by
  // its date.
  const isExact = slotMs <= nowMs || slotMs === coming.atMs;
  const jitterMs = isExact ? 0 : repeat?.jitterMs ?? 0;
  return { earliestMs: slotMs, latestMs: slotMs + jitterMs };
}

function comingSlot(
  { anchorMs, afterMs }: ComingRun,
  { repeat, timezone, calendars, nowMs }: ComingDateOptions & {
    readonly repeat: RepeatRule;
  },
): number | undefined {
  const outcome = parseTiming(repeat, { timezone, afterMs, calendars });
  if (outcome.kind === "invalid") return undefined;
  const { timing } = outcome;
  const schedule: Schedule = { timing, untilMs: repeat.untilMs };
  const grid = { anchorMs, timezone };
  const firstMs = nextOccurrence(schedule, { ...grid, afterMs });
  if (firstMs === undefined || firstMs > nowMs) return firstMs;
  const { runs, nextMs } = catchUp(schedule, {
    ...grid,
    scheduledMs: firstMs,
    isPending: true,
    nowMs,
    ...toLateness(repeat),
    limit: 1,
  });
  return runs.length > 0 ? firstMs : nextMs ?? firstMs;
}

/**
 * The first run of a task that has had no run yet: at the given date, or at the
 * first slot from there.
 */
export function runFrom(dateMs: number): ComingRun {
  const afterMs = dateMs - 1;
  return { atMs: dateMs, isFixed: false, anchorMs: dateMs, afterMs };
}

/** Tells whether a worker may take the task, or could if it were not paused. */
function isAwaited({ isDue, status, pausedFrom }: Task): boolean {
  return isDue || (status === "paused" ? pausedFrom : status) === "waiting";
}

/** The most dates that {@linkcode nextDates} returns. */
const MAX_DATES = 3;

/**
 * Worker rules of no worker in particular, since a schedule depends on no
 * worker.
 */
const NO_WORKER = { timeoutMs: 0, maxLost: 0 };

/**
 * The next dates of a task, at most three: the date it waits for, jitter
 * included, then the slots of its schedule that it will run for, if each run
 * ends at once. Empty when the task does not repeat or has ended.
 */
export function nextDates(
  task: Task,
  { nowMs, cache, calendars }: {
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
    /** The calendars that the task names. */
    readonly calendars: Calendars;
    /** The cache of parsed schedules. */
    readonly cache: RuleCache;
  },
): readonly number[] {
  if (task.repeat === undefined || isFinal(task.status)) return [];
  const repetition = findRepetition(
    task,
    resolveRules(task, NO_WORKER, { cache, calendars }),
  );
  if (repetition === undefined) return [];
  const isAhead = task.dateMs > nowMs && task.status !== "retry" &&
    task.status !== "running";
  const dates = isAhead ? [task.dateMs] : [];
  const atMs = isAhead ? task.dateMs : nowMs;
  const next = afterComingRun(task, repetition, atMs);
  if (next.slotMs === undefined) return dates;
  const { schedule, rule } = repetition;
  const grid = toGrid(task);
  const dateMs = next.dateMs ?? next.slotMs;
  if (dateMs > atMs) dates.push(dateMs);
  const reachedMs = Math.max(atMs, dateMs);
  // Slots that have passed by then count against the limit before future ones
  // do.
  let runs = next.runs +
    (rule.catchUp === "all" && schedule.limit !== undefined
      ? countOccurrences(schedule.timing, {
        afterMs: next.slotMs - 1,
        throughMs: Math.min(reachedMs, schedule.untilMs ?? Infinity),
      }, grid)
      : 1);
  let afterMs = Math.max(next.slotMs, reachedMs);
  while (dates.length < MAX_DATES) {
    const slotMs = nextOccurrence(schedule, { ...grid, afterMs, runs });
    if (slotMs === undefined) break;
    dates.push(slotMs);
    afterMs = slotMs;
    runs++;
  }
  return dates;
}

/** The slot that follows the current run, which is waiting or under way. */
interface Follower {
  /** The slot; undefined when there is none. */
  readonly slotMs: number | undefined;
  /** The date of that slot, if it was decided before. */
  readonly dateMs?: number | undefined;
  /** The number of runs before that slot that count against the limit. */
  readonly runs: number;
}

/** Finds the slot after the current run, if that run ends at `atMs`. */
function afterComingRun(
  task: Task,
  repetition: Repetition,
  atMs: number,
): Follower {
  // A due task has its slot already, except in the mode "one", in which a later
  // slot may stand for the slots that have passed since, and when it is too
  // late for that slot.
  const { slotMs: pendingMs, isRun } =
    task.isDue && repetition.rule.catchUp !== "one" && atMs < lateFromMs(task)
      ? { slotMs: task.slotMs, isRun: true }
      : pendingSlot(task, repetition, atMs);
  if (!isRun || pendingMs === undefined) {
    return { runs: finishedRuns(task), slotMs: pendingMs };
  }
  const run = pendingMs === task.slotMs
    ? task
    : patched(task, forSlot(task, pendingMs));
  const { repetitions, slotMs, dateMs } = slotAfterRun(run, repetition, atMs);
  return { slotMs, dateMs, runs: repetitions + 1 };
}
