/**
 * Instants of requests: a `Date` is written as the service reads it.
 *
 * @module
 */

import type { TaskTimes, Time } from "./job_types.ts";

/**
 * Returns an instant as text.
 *
 * @throws {TypeError} When it is an invalid `Date`, which JSON would write as
 * null: the task would run now.
 */
export function timeText(time: Time, name: string): string {
  if (!(time instanceof Date)) return time;
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new TypeError(`Cannot use "${name}": it is an invalid Date`);
}

/**
 * Checks the instants of a task; JSON writes a valid `Date` as it has to be.
 *
 * @throws {TypeError} When one is an invalid `Date`.
 */
export function checkTimes(
  { date, expires, repeat }: Pick<TaskTimes, "date" | "repeat"> & {
    readonly expires?: unknown;
  },
): void {
  const times = { date, expires, until: repeat?.until };
  for (const [name, time] of Object.entries(times)) {
    if (time instanceof Date) timeText(time, name);
  }
}
