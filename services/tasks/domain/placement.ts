/**
 * Where the store has to keep a task so that it is found when something is to
 * be done: among those that a worker may take, and in the order of the instants
 * at which the clock has to look at them.
 *
 * @module
 */

import { isFinal, type Task, type TaskStatus } from "./task.ts";

/**
 * How much earlier one step of priority counts: one minute of waiting, less a
 * millisecond. Dates are mostly at whole minutes or seconds, and with it, where
 * waiting has made up for priority, the first to expire is the first; without
 * it they would be equal.
 */
const PRIORITY_STEP_MS = 60_000 - 1;

/** The statuses in which a task whose date has come may be taken. */
export const TAKEABLE_STATUSES: readonly TaskStatus[] = [
  "waiting",
  "retry",
  "done",
];

/** How a store finds a task. */
export interface Placement {
  /**
   * The order among the worker's tasks that may be taken, lowest first, and of
   * equal ones the lowest id; absent when it may not be taken now. A step of
   * priority is worth a minute of waiting, so the order of two tasks never
   * changes with time and can be stored.
   */
  readonly rank?: number | undefined;
  /** When the clock has to look at it; absent when never. */
  readonly wakeAtMs?: number | undefined;
  /** The key that no other live task of the worker may have. */
  readonly liveKey?: string | undefined;
}

/** Returns where a task is to be kept. */
export function placementOf(task: Task): Placement {
  const { status, key } = task;
  const isTakeable = task.isDue && TAKEABLE_STATUSES.includes(status);
  const wakeAtMs = wakeOf(task);
  return {
    rank: isTakeable
      ? task.dateMs - task.priority * PRIORITY_STEP_MS
      : undefined,
    wakeAtMs,
    liveKey: isFinal(status) ? undefined : key,
  };
}

/**
 * Returns where a task is to be stored. The instants by which it is found have to be
 * whole milliseconds: a store that accepts others may compare them in another way
 * than it returns them.
 *
 * @throws {TypeError} when one is not, which is a fault of the program
 */
export function storedPlacementOf(task: Task): Placement {
  const placement = placementOf(task);
  const { rank = 0, wakeAtMs = 0 } = placement;
  const { createdAtMs, dateMs, finishedAtMs = 0 } = task;
  const isWhole = Number.isInteger(rank) && Number.isInteger(wakeAtMs) &&
    Number.isInteger(createdAtMs) && Number.isInteger(dateMs) &&
    Number.isInteger(finishedAtMs);
  if (isWhole) return placement;
  throw new TypeError(
    `Cannot store task "${task.id}": its times are not in whole milliseconds`,
  );
}

function wakeOf(task: Task): number | undefined {
  const { status, attempt, expiresAtMs } = task;
  if (isFinal(status)) return task.purgeAtMs;
  if (status === "running") {
    return attempt === undefined
      ? 0
      : Math.min(attempt.expiresAtMs, attempt.deadlineMs);
  }
  if (status === "paused") return undefined;
  if (status === "blocked" || task.isDue) return expiresAtMs;
  return Math.min(task.dateMs, expiresAtMs ?? Infinity);
}

/** How long after the end of its lease a task may still be found running. */
const GRACE_MS = 60_000;

/** What a check is made against. */
export interface CheckOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The start of the server that runs now. */
  readonly bootId: string;
}

/**
 * Looks for what would keep a task from ever going on; undefined when there is
 * nothing, else what it is.
 */
export function checkTask(
  task: Task,
  { nowMs, bootId }: CheckOptions,
): string | undefined {
  const { status, attempt } = task;
  if (status === "running") {
    if (attempt === undefined) return "it ran without a lease";
    if (attempt.bootId !== undefined && attempt.bootId !== bootId) {
      return "the server that called its worker is gone";
    }
    const endMs = Math.min(attempt.expiresAtMs, attempt.deadlineMs);
    return nowMs > endMs + GRACE_MS
      ? "its lease ended and the service did not notice"
      : undefined;
  }
  return attempt === undefined ? undefined : "it had a lease and did not run";
}
