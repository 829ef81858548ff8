/**
 * For which of its slots a schedule makes tasks.
 *
 * @module
 */

import { type CatchUp, catchUp } from "../catch_up.ts";
import { nextOccurrence } from "../schedule.ts";
import type { Task } from "../task.ts";
import type { EventContext } from "../task_event.ts";
import { countOccurrences } from "../timing.ts";
import {
  gridOf,
  ON_TIME_MS,
  type Repetition,
  runsHad,
  settledThrough,
} from "./repetition.ts";

/** Most tasks that one transition makes; the others follow at once. */
export const MAX_SPAWNED = 100;

/**
 * Most slots that passed for which tasks are made, the latest of them. A window
 * may be years long, and a task for each of its seconds is what nobody wants.
 */
export const MAX_CAUGHT_UP = 10_000;

/** How exactly the window of the latest slots is found; slots lie no closer. */
const WINDOW_STEP_MS = 1_000;

/** For which slots tasks are made. */
export interface SpawnSlots extends CatchUp {
  /** Slots that are passed over since there is no room for their tasks. */
  readonly withoutRoom: number;
}

/**
 * Applies the catch-up rule to the slots that have come. Tasks are made for the
 * first of them, as many as there is room for; the others are passed over.
 */
export function spawnSlots(
  task: Task,
  { rule, schedule }: Repetition,
  { nowMs, spawnRoom = Infinity }: Pick<EventContext, "nowMs" | "spawnRoom">,
): SpawnSlots {
  const { slotMs: scheduledMs, dateMs } = task;
  // A schedule that was moved by hand to before its slot is for that slot.
  const throughMs = Math.max(nowMs, scheduledMs);
  const movedMs = Math.max(0, dateMs - scheduledMs);
  const frame = { ...gridOf(task), runs: runsHad(task) };
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
