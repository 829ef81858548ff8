/**
 * When a task runs next, as the status machine will decide it: one that is made
 * or changed, and any task as answers show it.
 *
 * @module
 */

import { catchUp } from "./catch_up.ts";
import {
  countOccurrences,
  nextOccurrence,
  parseTiming,
  type Schedule,
} from "./schedule.ts";
import { type HeldSlot, isFinal, type RepeatRule, type Task } from "./task.ts";
import { type RuleCache, rulesOf } from "./rules.ts";
import {
  finishedRuns,
  forSlot,
  gridOf,
  ON_TIME_MS,
  pendingSlot,
  type Repetition,
  repetitionOf,
  slotAfterRun,
} from "./transitions/repetition.ts";
import { patched } from "./task_event.ts";

/** The coming run of a task. */
export interface ComingRun {
  /** Its date where no schedule decides it, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Whether that is its date whatever the schedule says. */
  readonly isFixed: boolean;
  /** Where the slots of the schedule begin. */
  readonly anchorMs: number;
  /** The run is at the first slot after this. */
  readonly afterMs: number;
  /** The slot it had before; where it has that again, its date stays. */
  readonly kept?: HeldSlot | undefined;
}

/** What decides about it beside the task. */
interface ComingRunOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The date that is asked for; undefined when none is. */
  readonly dateMs: number | undefined;
  /** Whether it is given a schedule or the zone of one. */
  readonly isRescheduled: boolean;
  /** Whether it has ended and is let live again, due now, before it is changed. */
  readonly isReopened: boolean;
}

/**
 * Where the coming run of a task is looked for: at a date that is fixed, or from
 * where on its schedule has a slot. A new task is not there yet.
 */
export function comingRun(
  task: Task | undefined,
  options: ComingRunOptions,
): ComingRun {
  const { nowMs, dateMs, isRescheduled, isReopened } = options;
  if (task === undefined) return runFrom(dateMs ?? nowMs);
  const { firstDateMs: anchorMs, run } = task;
  // Behind a run by hand waits the slot it holds back.
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
  // A slot of this very instant may have been run already, unless none has been.
  const presentMs = run === 0 ? nowMs - 1 : nowMs;
  const afterMs = Math.min(presentMs, slotMs - 1);
  const kept = { slotMs, dateMs: keptMs };
  return { atMs, isFixed: false, anchorMs, afterMs, kept };
}

/** What the date of a coming run depends on. */
interface ComingDateOptions {
  /** How the task repeats, if it does. */
  readonly repeat: RepeatRule | undefined;
  /** The zone of its schedule. */
  readonly timezone: string;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The date of a coming run. */
interface ComingDate {
  /** The earliest instant, in milliseconds since the epoch. */
  readonly earliestMs: number;
  /** The latest: chance may delay the runs of a schedule. */
  readonly latestMs: number;
}

/** Finds the date of the coming run; that of a run which is late has passed. */
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
  // Chance delays neither what has passed nor a slot that is asked for by date.
  const isExact = slotMs <= nowMs || slotMs === coming.atMs;
  const jitterMs = isExact ? 0 : repeat?.jitterMs ?? 0;
  return { earliestMs: slotMs, latestMs: slotMs + jitterMs };
}

function comingSlot(
  { anchorMs, afterMs }: ComingRun,
  { repeat, timezone, nowMs }: ComingDateOptions & {
    readonly repeat: RepeatRule;
  },
): number | undefined {
  const outcome = parseTiming(repeat, { timezone, afterMs });
  if (outcome.kind === "invalid") return undefined;
  const { untilMs, catchUp: mode, catchUpWindowMs: windowMs } = repeat;
  const schedule: Schedule = {
    timing: outcome.timing,
    untilMs,
  };
  const grid = { anchorMs, timezone };
  const firstMs = nextOccurrence(schedule, { ...grid, afterMs });
  if (firstMs === undefined || firstMs > nowMs) return firstMs;
  const { runs, nextMs } = catchUp(schedule, {
    ...grid,
    scheduledMs: firstMs,
    isPending: true,
    nowMs,
    mode,
    windowMs,
    graceMs: ON_TIME_MS,
    limit: 1,
  });
  return runs.length > 0 ? firstMs : nextMs ?? firstMs;
}

/** The run of a task that has had none yet, at a date or behind it. */
export function runFrom(dateMs: number): ComingRun {
  const afterMs = dateMs - 1;
  return { atMs: dateMs, isFixed: false, anchorMs: dateMs, afterMs };
}

/** Whether a worker may take it, or might if it were not paused. */
function isAwaited({ isDue, status, pausedFrom }: Task): boolean {
  return isDue || (status === "paused" ? pausedFrom : status) === "waiting";
}

/** How many dates are told. */
const MAX_DATES = 3;

/** Rules of no worker; a schedule depends on none. */
const NO_WORKER = { timeoutMs: 0, maxLost: 0 };

/**
 * The dates ahead of a task, at most three: the one it waits for, chance's delay
 * included, then the slots of its schedule that it will run for, if each run
 * ends at once. None of a task that does not repeat or has ended.
 */
export function nextDates(
  task: Task,
  { nowMs, cache }: {
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
    /** Where schedules are kept as read. */
    readonly cache: RuleCache;
  },
): readonly number[] {
  if (task.repeat === undefined || isFinal(task.status)) return [];
  const repetition = repetitionOf(task, rulesOf(task, NO_WORKER, { cache }));
  if (repetition === undefined) return [];
  const isAhead = task.dateMs > nowMs && task.status !== "retry" &&
    task.status !== "running";
  const dates = isAhead ? [task.dateMs] : [];
  const atMs = isAhead ? task.dateMs : nowMs;
  const next = afterComingRun(task, repetition, atMs);
  if (next.slotMs === undefined) return dates;
  const { schedule, rule } = repetition;
  const grid = gridOf(task);
  const dateMs = next.dateMs ?? next.slotMs;
  if (dateMs > atMs) dates.push(dateMs);
  const reachedMs = Math.max(atMs, dateMs);
  // Slots that have passed by then take from the limit before those ahead do.
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

/** The slot that follows the run that is waited for or under way. */
interface Follower {
  /** The slot; undefined when there is none. */
  readonly slotMs: number | undefined;
  /** When that is, if it was settled before. */
  readonly dateMs?: number | undefined;
  /** Runs that count and come before it. */
  readonly runs: number;
}

/** What follows the run that is waited for or under way, if it ends at an instant. */
function afterComingRun(
  task: Task,
  repetition: Repetition,
  atMs: number,
): Follower {
  // What is due has its slot, but for one that does for those passed since, too.
  const { slotMs: pendingMs, isRun } =
    task.isDue && repetition.rule.catchUp !== "one"
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
