/**
 * The fields of a task: what each is when nothing is said of it, and the part
 * that its owner decides.
 *
 * @module
 */

import type { Task, TaskDefinition } from "./task.ts";

/**
 * A definition of which nothing is said. Bodies in the database leave out fields
 * with these values, so changing one of them needs a migration.
 */
export const BLANK_DEFINITION: TaskDefinition = {
  workerId: "",
  job: "default",
  dataJson: "null",
  timezone: "UTC",
  repeat: undefined,
  retry: undefined,
  timeoutMs: undefined,
  expiresAtMs: undefined,
  dependencies: [],
  onDependencyFailure: "fail",
  priority: 0,
  group: "",
  key: undefined,
  callback: undefined,
  tags: [],
  metadata: {},
};

/**
 * A task of which nothing is said, with all its fields: tasks are made by
 * spreading it, so that all have one shape, which makes copying them and writing
 * them as JSON fast. For its values see {@linkcode BLANK_DEFINITION}.
 */
export const BLANK_TASK: Task = {
  tenantId: "",
  id: "",
  version: 1,
  createdBy: { type: "system", id: "system" },
  createdAtMs: 0,
  parentId: undefined,
  ...BLANK_DEFINITION,
  status: "scheduled",
  pausedFrom: undefined,
  dateMs: 0,
  firstDateMs: 0,
  slotMs: 0,
  isRepetition: undefined,
  held: undefined,
  scheduleSinceMs: undefined,
  isDue: true,
  run: 0,
  executions: 0,
  retries: 0,
  repetitions: 0,
  lost: 0,
  lostInRow: 0,
  missed: 0,
  lagMs: undefined,
  durationMs: undefined,
  lastOutcome: undefined,
  resultJson: undefined,
  isResultTruncated: undefined,
  error: undefined,
  attempt: undefined,
  settled: undefined,
  fence: 0,
  firstTriedAtMs: undefined,
  updatedAtMs: 0,
  startedAtMs: undefined,
  finishedAtMs: undefined,
  purgeAtMs: undefined,
  historyCount: 0,
  historyHash: "",
  historyFolded: undefined,
};

type Draft = { -readonly [Key in keyof TaskDefinition]: TaskDefinition[Key] };

// The compiler has checked that these are the keys, all of them and no others.
const DEFINITION_KEYS = Object.keys(
  BLANK_DEFINITION,
) as readonly (keyof TaskDefinition)[];

/** Returns the fields that the owner of a task decides, and no others. */
export function definitionOf(source: TaskDefinition): TaskDefinition {
  const definition: Draft = { ...BLANK_DEFINITION };
  for (const key of DEFINITION_KEYS) copy(definition, source, key);
  return definition;
}

function copy<Key extends keyof TaskDefinition>(
  to: Draft,
  from: TaskDefinition,
  key: Key,
): void {
  to[key] = from[key];
}
