/**
 * What cannot be true of a task that is well.
 *
 * @module
 */

import type { Task } from "./task.ts";

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
      ? "its lease ended and nobody took note"
      : undefined;
  }
  return attempt === undefined ? undefined : "it had a lease and did not run";
}
