/**
 * What of a task is in no column of its own, as JSON text that leaves out what
 * most tasks have in common.
 *
 * @module
 */

import { BLANK_TASK, type Task } from "../../domain/task.ts";

/** What of a task is in columns of its own and read from there. */
export type TaskColumns = Pick<
  Task,
  "tenantId" | "id" | "version" | "dataJson" | "resultJson"
>;

/** An object of the shape of tasks is the quickest to be made text. */
type EncodedBody = { readonly [Key in keyof Task]: unknown };

/**
 * Encodes a task's body: all of its fields but the columns. Some are left out
 * while they have the value that {@linkcode BLANK_TASK} has.
 */
export function encodeBody(task: Task): string {
  const body: EncodedBody = {
    ...task,
    tenantId: undefined,
    id: undefined,
    version: undefined,
    dataJson: undefined,
    resultJson: undefined,
    job: unlessBlank(task, "job"),
    timezone: unlessBlank(task, "timezone"),
    dependencies: unlessEmpty(task.dependencies),
    onDependencyFailure: unlessBlank(task, "onDependencyFailure"),
    priority: unlessBlank(task, "priority"),
    group: unlessBlank(task, "group"),
    tags: unlessEmpty(task.tags),
    metadata: hasMembers(task.metadata) ? task.metadata : undefined,
    isDue: unlessBlank(task, "isDue"),
    run: unlessBlank(task, "run"),
    executions: unlessBlank(task, "executions"),
    retries: unlessBlank(task, "retries"),
    repetitions: unlessBlank(task, "repetitions"),
    lost: unlessBlank(task, "lost"),
    lostInRow: unlessBlank(task, "lostInRow"),
    missed: unlessBlank(task, "missed"),
    fence: unlessBlank(task, "fence"),
  };
  return JSON.stringify(body);
}

function unlessBlank<Key extends keyof Task>(
  task: Task,
  key: Key,
): Task[Key] | undefined {
  return task[key] === BLANK_TASK[key] ? undefined : task[key];
}

function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function hasMembers(record: Readonly<Record<string, string>>): boolean {
  for (const _ in record) return true;
  return false;
}

/** Decodes the task of a body that {@linkcode encodeBody} made. */
export function decodeBody(text: string, columns: TaskColumns): Task {
  // Only this program writes bodies, so there is nothing to check.
  const body: Partial<Task> = JSON.parse(text);
  return {
    ...BLANK_TASK,
    ...body,
    tenantId: columns.tenantId,
    id: columns.id,
    version: columns.version,
    dataJson: columns.dataJson,
    resultJson: columns.resultJson,
  };
}
