/**
 * The definition within a task.
 *
 * @module
 */

import type { TaskDefinition } from "../task.ts";
import type { TaskFields } from "./compact_task.ts";

/** A definition with all of its fields; what is absent has no value. */
export type DefinitionPatch = {
  readonly [Key in keyof TaskDefinition]-?: TaskFields[Key];
};

/** Returns the fields that the owner decides, and none besides. */
export function definitionPatchOf(source: TaskDefinition): DefinitionPatch {
  return {
    workerId: source.workerId,
    job: source.job,
    dataJson: source.dataJson,
    timezone: source.timezone,
    repeat: source.repeat,
    retry: source.retry,
    timeoutMs: source.timeoutMs,
    expiresAtMs: source.expiresAtMs,
    dependencies: source.dependencies,
    onDependencyFailure: source.onDependencyFailure,
    priority: source.priority,
    group: source.group,
    key: source.key,
    callback: source.callback,
    tags: source.tags,
    metadata: source.metadata,
  };
}
