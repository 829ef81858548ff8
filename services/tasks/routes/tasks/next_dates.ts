/**
 * The next dates of a task that repeats.
 *
 * @module
 */

import { type RuleCache, rulesOf } from "../../domain/rules.ts";
import { countOccurrences, nextOccurrence } from "../../domain/schedule.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import {
  forSlot,
  gridOf,
  type NextSlot,
  pendingSlot,
  type Repetition,
  repetitionOf,
  runsHad,
  slotAfterRun,
} from "../../domain/transitions/repetition.ts";
import { patched } from "../../domain/transitions/step.ts";

/** How many dates are told. */
const COUNT = 3;

/** Rules of no worker; a schedule depends on none. */
const NO_WORKER = { timeoutMs: 0, maxLost: 0 };

/** What the dates are found by. */
export interface NextDatesOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Where schedules are kept as read. */
  readonly cache: RuleCache;
}

/**
 * The dates ahead of a task, at most three: the one it waits for, chance's delay
 * included, then the slots of its schedule that it will run for, if each run
 * ends at once. None of a task that does not repeat or has ended.
 */
export function nextDates(
  task: Task,
  { nowMs, cache }: NextDatesOptions,
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
  while (dates.length < COUNT) {
    const slotMs = nextOccurrence(schedule, { ...grid, afterMs, runs });
    if (slotMs === undefined) break;
    dates.push(slotMs);
    afterMs = slotMs;
    runs++;
  }
  return dates;
}

interface Follower extends Pick<NextSlot, "slotMs" | "dateMs"> {
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
  const pending = task.isDue && repetition.rule.catchUp !== "one"
    ? { kind: "run", slotMs: task.slotMs } as const
    : pendingSlot(task, repetition, { nowMs: atMs, countsMissed: false });
  if (pending.kind !== "run") {
    const slotMs = pending.kind === "later" ? pending.slotMs : undefined;
    return { runs: runsHad(task), slotMs };
  }
  const run = pending.slotMs === task.slotMs
    ? task
    : patched(task, forSlot(task, pending.slotMs));
  const { repetitions, ...next } = slotAfterRun(run, repetition, {
    nowMs: atMs,
    countsMissed: false,
  });
  return { ...next, runs: repetitions + 1 };
}
