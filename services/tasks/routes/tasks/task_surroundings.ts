/**
 * What tasks that a client sends refer to, read before they are judged.
 *
 * @module
 */

import type { PlanLimits, WorkerDefinition } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { EngineParts } from "../../engine/parts.ts";
import { taskNumber } from "../../store/task_id.ts";

/** A task that another one depends on, as it stands. */
export type ReferredTask = Pick<
  Task,
  "id" | "status" | "pausedFrom" | "lastOutcome"
>;

/** What was found of it; sees the state of one moment. */
export interface Surroundings {
  /** The limits of the tenant's plan. */
  readonly limits: PlanLimits;
  /** Workers by the text that named them; without those that are not there. */
  readonly workers: ReadonlyMap<string, WorkerDefinition>;
  /** How tasks stand, by id; without those that are not there. */
  readonly tasks: ReadonlyMap<string, ReferredTask>;
}

/** What is referred to. */
export interface References {
  /** Names or ids of workers. */
  readonly workers: Iterable<string>;
  /** Ids of tasks. */
  readonly tasks: Iterable<string>;
}

/** Most tasks that are read in one go; each may carry much. */
const PAGE = 100;

/** Reads what is referred to, each thing once. */
export async function readSurroundings(
  parts: Pick<EngineParts, "limitsOf" | "workers" | "store">,
  tenantId: string,
  references: References,
): Promise<Surroundings> {
  const limits = await parts.limitsOf(tenantId);
  const workers = new Map<string, WorkerDefinition>();
  for (const name of new Set(references.workers)) {
    const worker = await parts.workers.find(tenantId, name);
    if (worker !== undefined) workers.set(name, worker);
  }
  const tasks = new Map<string, ReferredTask>();
  const ids = [...new Set(references.tasks)].filter((id) =>
    taskNumber(id) !== undefined
  );
  for (let from = 0; from < ids.length; from += PAGE) {
    const found = await parts.store.tasks(
      tenantId,
      ids.slice(from, from + PAGE),
    );
    for (const task of found) {
      if (task === undefined) continue;
      const { id, status, pausedFrom, lastOutcome } = task;
      tasks.set(id, {
        id,
        status,
        ...(pausedFrom === undefined ? {} : { pausedFrom }),
        ...(lastOutcome === undefined ? {} : { lastOutcome }),
      });
    }
  }
  return { limits, workers, tasks };
}
