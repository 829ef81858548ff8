/**
 * Tasks whose worker was removed: none of them comes to live again, since nobody
 * would run it.
 *
 * @module
 */

import { isFinal, type Task } from "../../domain/task.ts";
import type { Settled } from "../../engine/event_plan.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { Write } from "../../store/store.ts";

/**
 * What is written along with a change of a task: one that lets it live again
 * demands that its worker is there, and is a conflict `missing` else.
 */
export function requiringWorker(
  { repositories }: Pick<EngineParts, "repositories">,
  settled: Settled,
): readonly Write[] {
  if (settled.kind !== "changed") return [];
  const { previous, task } = settled;
  return isFinal(previous.status) && !isFinal(task.status)
    ? [repositories.workers.assertExists(task.tenantId, task.workerId)]
    : [];
}

/** Why a task that has ended cannot be retried, for people. */
export function removedWorker({ workerId }: Pick<Task, "workerId">): string {
  return `Cannot retry task: its worker "${workerId}" was removed; ` +
    "give the task another one";
}
