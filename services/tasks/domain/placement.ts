/**
 * Computes the indexed values by which the store finds a task: its rank among
 * the tasks that a worker may take, the instant at which the clock has to look
 * at it, and its links to others.
 *
 * @module
 */

import { calendarLink, isFinal, type Task, type TaskStatus } from "./task.ts";
import { lateFromMs } from "./transitions/repetition.ts";
import { WAIT_CODES } from "./wait.ts";

/**
 * How many milliseconds earlier one step of priority ranks a task: one minute
 * less a millisecond. Dates are mostly at whole minutes or seconds. With a full
 * minute, a task with a higher priority and an earlier one with a lower
 * priority would often have equal ranks; with a millisecond less, the one that
 * was due earlier comes first.
 */
const PRIORITY_STEP_MS = 60_000 - 1;

/** The statuses in which a worker may take a due task. */
export const TAKEABLE_STATUSES: readonly TaskStatus[] = [
  "waiting",
  "retry",
  "done",
];

/** The indexed values by which a store finds a task. */
export interface Placement {
  /**
   * The order among the worker's tasks that may be taken: the lowest rank is
   * first, and among equal ones the lowest id. Absent when the task may not be
   * taken now. A step of priority is worth a minute of waiting, so the order of
   * two tasks never changes with time and can be stored.
   */
  readonly rank?: number | undefined;
  /** When the clock has to look at the task; absent means never. */
  readonly wakeAtMs?: number | undefined;
  /** The key that no other live task of the worker may have. */
  readonly liveKey?: string | undefined;
  /**
   * When a repeating task last failed whose last run has failed; absent for any
   * other task, and once it was canceled or has expired.
   */
  readonly failingSinceMs?: number | undefined;
  /** What it waits for, as one of `WAIT_CODES`; absent when it does not wait. */
  readonly awaits?: number | undefined;
}

/** Computes the indexed values of a task. */
export function computePlacement(task: Task): Placement {
  const { status, key, wait } = task;
  const isTakeable = task.isDue && TAKEABLE_STATUSES.includes(status);
  const wakeAtMs = computeWake(task);
  return {
    rank: isTakeable
      ? task.dateMs - task.priority * PRIORITY_STEP_MS
      : undefined,
    wakeAtMs,
    liveKey: isFinal(status) ? undefined : key,
    failingSinceMs: computeFailing(task),
    awaits: wait?.for && WAIT_CODES[wait.for.kind],
  };
}

function computeFailing(
  { repeat, lastOutcome, status, error, updatedAtMs }: Task,
): number | undefined {
  return repeat === undefined || lastOutcome !== "failed" ||
      status === "canceled" || status === "expired"
    ? undefined
    : error?.atMs ?? updatedAtMs;
}

/**
 * Computes the indexed values of a task that is about to be stored. All times
 * have to be whole milliseconds: a store that accepts others may compare them
 * in another way than it returns them.
 *
 * @throws {TypeError} when a time is not whole, which is a fault of the program
 */
export function computeStoredPlacement(task: Task): Placement {
  const placement = computePlacement(task);
  const { rank = 0, wakeAtMs = 0, failingSinceMs = 0 } = placement;
  const { createdAtMs, dateMs, finishedAtMs = 0 } = task;
  const isWhole = Number.isInteger(rank) && Number.isInteger(wakeAtMs) &&
    Number.isInteger(createdAtMs) && Number.isInteger(dateMs) &&
    Number.isInteger(finishedAtMs) && Number.isInteger(failingSinceMs);
  if (isWhole) return placement;
  throw new TypeError(
    `Cannot store task "${task.id}": its times are not in whole milliseconds`,
  );
}

function computeWake(task: Task): number | undefined {
  const { status, attempt, expiresAtMs } = task;
  if (isFinal(status)) return task.purgeAtMs;
  if (status === "running") {
    return attempt === undefined
      ? 0
      : Math.min(attempt.expiresAtMs, attempt.deadlineMs);
  }
  if (status === "paused") return undefined;
  if (status === "blocked") return expiresAtMs;
  const atMs = task.isDue ? lateFromMs(task) : task.dateMs;
  return earliest(atMs, expiresAtMs);
}

/** The earlier of two instants; undefined when neither ever comes. */
function earliest(
  atMs: number,
  otherMs: number | undefined,
): number | undefined {
  const firstMs = Math.min(atMs, otherMs ?? Infinity);
  return firstMs === Infinity ? undefined : firstMs;
}

/**
 * What the store has to find a task by: all dependencies and calendars of a live
 * one, since it waits for them or moves with them, and of one that has failed by
 * a dependency just that, since a retry of the dependency may revive it.
 */
export function listLinks(
  task: Pick<Task, "status" | "dependencies" | "repeat" | "error">,
): readonly string[] {
  const { status, dependencies, repeat, error } = task;
  const calendars = repeat?.calendars ?? [];
  if (dependencies.length + calendars.length === 0) return dependencies;
  if (!isFinal(status)) {
    return [...new Set([...dependencies, ...calendars.map(calendarLink)])];
  }
  return error?.dependency === undefined || status !== "failed"
    ? []
    : [error.dependency];
}

/**
 * How many milliseconds after the end of its lease a task may still be running
 * before that counts as a fault.
 */
const GRACE_MS = 60_000;

/** What {@linkcode checkTask} judges a task by. */
export interface CheckOptions {
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Whether an instance that makes push calls has died or left. */
  readonly isGone: (instanceId: string) => boolean;
}

/**
 * Looks for a fault that would keep a task from ever going on. Returns a text
 * that says what it is; undefined when there is no fault.
 */
export function checkTask(
  task: Task,
  { nowMs, isGone }: CheckOptions,
): string | undefined {
  const { status, attempt } = task;
  if (status === "running") {
    if (attempt === undefined) return "it ran without a lease";
    if (attempt.bootId !== undefined && isGone(attempt.bootId)) {
      return "the server that called its worker is gone";
    }
    const endMs = Math.min(attempt.expiresAtMs, attempt.deadlineMs);
    return nowMs > endMs + GRACE_MS
      ? "its lease ended and the service did not notice"
      : undefined;
  }
  return attempt === undefined ? undefined : "it had a lease and did not run";
}
