/**
 * Adds tasks for tests of workers and leases.
 *
 * @module
 */

import type { Task, TaskDefinition } from "../../../domain/task.ts";
import type { WorkerDefinition } from "../../../domain/records.ts";
import { createTask } from "../../../engine/testing/create_tasks.ts";
import { sampleDefinition } from "../../../engine/testing/samples.ts";
import type { TestApi } from "../../testing/test_api.ts";

/** The values of a task that a test sets. */
export interface AddTaskOptions extends Partial<TaskDefinition> {
  /**
   * Its date, in milliseconds since the epoch.
   * @default now
   */
  readonly dateMs?: number;
}

/**
 * Adds a task of a worker.
 *
 * @throws {Error} when it cannot be written
 */
export async function addTask(
  { engine }: Pick<TestApi, "engine">,
  worker: WorkerDefinition,
  { dateMs, ...patch }: AddTaskOptions = {},
): Promise<Task> {
  return await createTask(engine, {
    tenantId: worker.tenantId,
    worker,
    definition: sampleDefinition({ workerId: worker.id, ...patch }),
    dateMs,
    isPaused: false,
    actor: { type: "user", id: "usr_test" },
  });
}

/** The record types of a task's history, oldest first. */
export async function listRecordTypes(
  { store }: Pick<TestApi, "store">,
  { tenantId, id }: Pick<Task, "tenantId" | "id">,
): Promise<readonly string[]> {
  return (await listRecords({ store }, { tenantId, id }))
    .map((record) => String(record.type));
}

/** The records of a task's history, oldest first. */
export async function listRecords(
  { store }: Pick<TestApi, "store">,
  { tenantId, id }: Pick<Task, "tenantId" | "id">,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const page = await store.history({
    tenantId,
    taskId: id,
    order: "asc",
    limit: 1_000,
  });
  return page.records.map(({ text }) => JSON.parse(text));
}
