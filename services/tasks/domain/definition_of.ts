/**
 * The part of a task that its owner decides.
 *
 * @module
 */

import type { Task, TaskDefinition } from "./task.ts";

/** Returns what the owner of a task decided, without what became of it. */
export function definitionOf(task: Task): TaskDefinition {
  return {
    workerId: task.workerId,
    job: task.job,
    dataJson: task.dataJson,
    timezone: task.timezone,
    ...(task.repeat === undefined ? {} : { repeat: task.repeat }),
    ...(task.retry === undefined ? {} : { retry: task.retry }),
    ...(task.timeoutMs === undefined ? {} : { timeoutMs: task.timeoutMs }),
    ...(task.expiresAtMs === undefined
      ? {}
      : { expiresAtMs: task.expiresAtMs }),
    dependencies: task.dependencies,
    onDependencyFailure: task.onDependencyFailure,
    priority: task.priority,
    group: task.group,
    ...(task.key === undefined ? {} : { key: task.key }),
    ...(task.callback === undefined ? {} : { callback: task.callback }),
    tags: task.tags,
    metadata: task.metadata,
  };
}
