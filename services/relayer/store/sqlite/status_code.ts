/**
 * Statuses of jobs as the database has them.
 *
 * @module
 */

import type { JobStatus } from "../job_row.ts";

/** In the order of their numbers; what is released never moves. */
const STATUSES: readonly JobStatus[] = [
  "pending",
  "running",
  "uploaded",
  "done",
  "failed",
];

/** Numbers below it are of jobs that are unfinished. */
const FIRST_FINISHED = 3;

/** The number of a status. */
export function statusCode(status: JobStatus): number {
  return STATUSES.indexOf(status);
}

/**
 * The status of a number.
 *
 * @throws {RangeError} when there is none
 */
export function statusOf(code: number): JobStatus {
  const status = STATUSES[code];
  if (status === undefined) {
    throw new RangeError(`Cannot read job: its status is ${code}`);
  }
  return status;
}

/** Whether a job of this status is still to be worked on. */
export function isUnfinished(code: number): boolean {
  return code < FIRST_FINISHED;
}
