/**
 * Instants are whole milliseconds: a store that takes others may compare them
 * otherwise than it gives them back.
 *
 * @module
 */

import { placementOf } from "../domain/placement.ts";
import type { Task } from "../domain/task.ts";

/**
 * Demands that the instants by which a task is found are whole.
 *
 * @throws {TypeError} when one is not; whoever computed it is at fault
 */
export function demandWholeInstants(task: Task): void {
  const { rank = 0, wakeAtMs = 0 } = placementOf(task);
  const { createdAtMs, dateMs, finishedAtMs = 0 } = task;
  const isWhole = Number.isInteger(rank) && Number.isInteger(wakeAtMs) &&
    Number.isInteger(createdAtMs) && Number.isInteger(dateMs) &&
    Number.isInteger(finishedAtMs);
  if (isWhole) return;
  throw new TypeError(
    `Cannot store task "${task.id}": its times are not in whole milliseconds`,
  );
}
