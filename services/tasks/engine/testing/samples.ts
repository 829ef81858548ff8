/**
 * Sample workers and task definitions for tests.
 *
 * @module
 */

import {
  BLANK_DEFINITION,
  type Task,
  type TaskDefinition,
} from "../../domain/task.ts";
import type { WorkerDefinition } from "../../domain/records.ts";
import type { Store } from "../../store/store.ts";
import type { EngineParts } from "../parts.ts";

/** A pull worker that is created now, with the fields of the patch. */
export function sampleWorker(
  { clock, newId }: Pick<EngineParts, "clock" | "newId">,
  patch: Partial<WorkerDefinition> & Pick<WorkerDefinition, "tenantId">,
): WorkerDefinition {
  return {
    id: newId("wrk"),
    version: 1,
    name: "mailer",
    kind: "pull",
    method: "POST",
    headers: {},
    concurrency: 0,
    timeoutMs: 60_000,
    leaseMs: 30_000,
    maxLost: 3,
    isPaused: false,
    signing: [],
    createdAtMs: clock.nowMs(),
    updatedAtMs: clock.nowMs(),
    ...patch,
  };
}

/** The definition of a task that runs once, with the fields of the patch. */
export function sampleDefinition(
  patch: Partial<TaskDefinition> & Pick<TaskDefinition, "workerId">,
): TaskDefinition {
  return { ...BLANK_DEFINITION, ...patch };
}

/** A tenant's waiting tasks, the oldest first. */
export async function waitingTasks(
  store: Pick<Store, "listTasks">,
  tenantId: string,
): Promise<readonly Task[]> {
  const { tasks } = await store.listTasks({
    tenantId,
    statuses: ["waiting"],
    by: "created_at",
    sort: "created_at",
    order: "asc",
    limit: 10_000,
  });
  return tasks;
}
