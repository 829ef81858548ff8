/**
 * Statuses as the numbers that the database keeps.
 *
 * @module
 */

import { TASK_STATUSES, type TaskStatus } from "../../domain/task.ts";

/** In the order of their numbers, which is fixed for ever: files hold it. */
const STATUSES: readonly TaskStatus[] = [
  "scheduled",
  "blocked",
  "waiting",
  "running",
  "retry",
  "done",
  "paused",
  "complete",
  "failed",
  "canceled",
  "expired",
];

const CODES: ReadonlyMap<TaskStatus, number> = new Map(
  STATUSES.map((status, code) => [status, code]),
);

/** All numbers. */
export const STATUS_CODES: readonly number[] = TASK_STATUSES.map(statusCode);

/** The number of `blocked`, which an index names. */
export const BLOCKED_CODE = 1;

/** The number of `waiting`, which an index names. */
export const WAITING_CODE = 2;

/** The number of `running`, which an index names. */
export const RUNNING_CODE = 3;

/** The number of a status. */
export function statusCode(status: TaskStatus): number {
  const code = CODES.get(status);
  if (code === undefined) {
    throw new TypeError(`Cannot store status "${status}": it has no number`);
  }
  return code;
}

/** The status of a number. */
export function statusOf(code: number): TaskStatus {
  const status = STATUSES[code];
  if (status === undefined) {
    throw new TypeError(`Cannot read status ${code}: it has no name`);
  }
  return status;
}
