/**
 * What of a task is in no column of its own, as JSON text that leaves out what
 * most tasks have in common.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";

/** A task without what is in columns of its own and read from there. */
export type TaskBody = Omit<
  Task,
  "tenantId" | "id" | "version" | "dataJson" | "resultJson"
>;

/** The columns that are read instead. */
const IN_COLUMNS: ReadonlySet<string> = new Set([
  "tenantId",
  "id",
  "version",
  "dataJson",
  "resultJson",
]);

/**
 * What a field is that the text leaves out. Files depend on it: a change needs a
 * migration.
 */
const DEFAULTS = {
  job: "default",
  group: "",
  timezone: "UTC",
  onDependencyFailure: "fail",
  priority: 0,
  isDue: true,
  run: 0,
  executions: 0,
  retries: 0,
  repetitions: 0,
  lost: 0,
  lostInRow: 0,
  missed: 0,
  fence: 0,
} as const satisfies Partial<TaskBody>;

/** Fields that the text leaves out when there is nothing in them. */
type MayBeEmpty = "dependencies" | "tags" | "metadata";

const COMMON: Readonly<Record<string, unknown>> = DEFAULTS;

/** Encodes a task's body. */
export function encodeBody(task: Task): string {
  const body: Record<string, unknown> = {};
  const fields: Readonly<Record<string, unknown>> = { ...task };
  for (const field in fields) {
    const value = fields[field];
    if (value === COMMON[field] || IN_COLUMNS.has(field)) continue;
    const mayBeEmpty = field === "dependencies" || field === "tags" ||
      field === "metadata";
    if (mayBeEmpty && Object.keys(value ?? {}).length === 0) continue;
    body[field] = value;
  }
  return JSON.stringify(body);
}

/** Decodes a body that {@linkcode encodeBody} made. */
export function decodeBody(text: string): TaskBody {
  // Nobody else writes bodies, so there is nothing to check.
  const body: Omit<TaskBody, keyof typeof DEFAULTS | MayBeEmpty> = JSON.parse(
    text,
  );
  return { ...DEFAULTS, dependencies: [], tags: [], metadata: {}, ...body };
}
