/**
 * What is different between two definitions of a task, as its history tells it.
 *
 * @module
 */

import type { FieldChange } from "../../domain/history.ts";
import type { Task, TaskDefinition } from "../../domain/task.ts";
import { jsonEquals } from "../../../shared/schema/read_only.ts";
import { viewTask } from "./task_view.ts";

/** Fields of the view that the definition decides. */
const FIELDS = [
  "job",
  "timezone",
  "repeat",
  "retry",
  "timeout",
  "expires",
  "dependencies",
  "on_dependency_failure",
  "priority",
  "group",
  "key",
  "callback",
  "tags",
  "metadata",
] as const;

/** Most characters of data that a history repeats. */
const MAX_DATA_CHARS = 1_024;

/** Options of {@linkcode definitionChanges}. */
export interface DefinitionChangesOptions {
  /** The definition from now on. */
  readonly next: TaskDefinition;
  /** The worker's name before and from now on. */
  readonly workerNames: { readonly from: string; readonly to: string };
}

/** Lists the fields that change; a date is told by the history itself. */
export function definitionChanges(
  task: Task,
  { next, workerNames }: DefinitionChangesOptions,
): readonly FieldChange[] {
  const before = shown(task);
  const after = shown({ ...task, ...next });
  const changes: FieldChange[] = [];
  if (task.workerId !== next.workerId) {
    changes.push({ field: "worker", ...workerNames });
  }
  if (task.dataJson !== next.dataJson) {
    changes.push({
      field: "data",
      from: preview(task.dataJson),
      to: preview(next.dataJson),
    });
  }
  for (const field of FIELDS) {
    // Absent and null differ: one is the worker's policy, the other none.
    const isSame = (before[field] === undefined) ===
        (after[field] === undefined) &&
      jsonEquals(before[field], after[field]);
    if (isSame) continue;
    changes.push({ field, from: before[field], to: after[field] });
  }
  return changes;
}

function shown(task: Task): Readonly<Record<string, unknown>> {
  return viewTask(task, { workerName: "", payloads: false });
}

function preview(text: string): string {
  return text.length <= MAX_DATA_CHARS
    ? text
    : `${text.slice(0, MAX_DATA_CHARS)}…`;
}
