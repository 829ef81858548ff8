/**
 * The statuses of a task.
 *
 * @module
 */

/** The statuses that a task still does something in. */
export const LIVE_STATUSES = [
  "scheduled",
  "blocked",
  "waiting",
  "running",
  "retry",
  "done",
  "paused",
] as const;

/** The statuses that a task leaves by hand alone. */
export const FINAL_STATUSES = [
  "complete",
  "failed",
  "canceled",
  "expired",
] as const;

/** All statuses. */
export const TASK_STATUSES = [...LIVE_STATUSES, ...FINAL_STATUSES] as const;

/**
 * The status of a task: `scheduled` before its first date, `blocked` until its
 * dependencies are settled, `waiting` when it is due and not taken, `running`
 * while a lease holds it, `retry` after a failure with another try to come,
 * `done` after a success with a repetition to come, `paused` on request; and
 * the final ones.
 */
export type TaskStatus = typeof TASK_STATUSES[number];

/** A status that a task leaves by hand alone. */
export type FinalStatus = typeof FINAL_STATUSES[number];

/** Tells whether a task of that status has nothing more to do. */
export function isFinal(status: TaskStatus): status is FinalStatus {
  return FINAL_STATUSES.some((final) => final === status);
}
