/**
 * What of a task is in no column of its own, as JSON text that leaves out what
 * most tasks have in common.
 *
 * @module
 */

import { BLANK_TASK, type Task } from "../../domain/task.ts";

/** What of a task is in columns of its own and read from there. */
type TaskColumns = Pick<
  Task,
  "tenantId" | "id" | "version" | "dataJson" | "resultJson"
>;

type Draft = { -readonly [Key in keyof Task]: unknown };

/**
 * Encodes a task's body: all of its fields but the columns. Some are left out
 * while they have the value that {@linkcode BLANK_TASK} has. JSON leaves out what
 * is undefined, and setting what is there keeps the shape that all tasks have,
 * which is the quickest to be made text.
 */
export function encodeBody(task: Task): string {
  const body: Draft = { ...task };
  body.tenantId = undefined;
  body.id = undefined;
  body.version = undefined;
  body.dataJson = undefined;
  body.resultJson = undefined;
  if (task.job === BLANK_TASK.job) body.job = undefined;
  if (task.timezone === BLANK_TASK.timezone) body.timezone = undefined;
  if (task.dependencies.length === 0) body.dependencies = undefined;
  if (task.onDependencyFailure === BLANK_TASK.onDependencyFailure) {
    body.onDependencyFailure = undefined;
  }
  if (task.priority === BLANK_TASK.priority) body.priority = undefined;
  if (task.group === BLANK_TASK.group) body.group = undefined;
  if (task.tags.length === 0) body.tags = undefined;
  if (!hasMembers(task.metadata)) body.metadata = undefined;
  if (task.isDue === BLANK_TASK.isDue) body.isDue = undefined;
  if (task.run === BLANK_TASK.run) body.run = undefined;
  if (task.executions === BLANK_TASK.executions) body.executions = undefined;
  if (task.retries === BLANK_TASK.retries) body.retries = undefined;
  if (task.repetitions === BLANK_TASK.repetitions) body.repetitions = undefined;
  if (task.lost === BLANK_TASK.lost) body.lost = undefined;
  if (task.lostInRow === BLANK_TASK.lostInRow) body.lostInRow = undefined;
  if (task.missed === BLANK_TASK.missed) body.missed = undefined;
  if (task.fence === BLANK_TASK.fence) body.fence = undefined;
  return JSON.stringify(body);
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
