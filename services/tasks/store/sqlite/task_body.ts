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

/** A body with all of its fields, so that none is forgotten; JSON leaves out what is undefined. */
type EncodedBody = { readonly [Key in keyof TaskBody]-?: unknown };

/** Encodes a task's body. An object of one shape is the quickest to be made text. */
export function encodeBody(task: Task): string {
  const body: EncodedBody = {
    workerId: task.workerId,
    job: unless(DEFAULTS.job, task.job),
    timezone: unless(DEFAULTS.timezone, task.timezone),
    repeat: task.repeat,
    retry: task.retry,
    timeoutMs: task.timeoutMs,
    expiresAtMs: task.expiresAtMs,
    dependencies: unlessEmpty(task.dependencies),
    onDependencyFailure: unless(
      DEFAULTS.onDependencyFailure,
      task.onDependencyFailure,
    ),
    priority: unless(DEFAULTS.priority, task.priority),
    group: unless(DEFAULTS.group, task.group),
    key: task.key,
    callback: task.callback,
    tags: unlessEmpty(task.tags),
    metadata: hasMembers(task.metadata) ? task.metadata : undefined,
    status: task.status,
    pausedFrom: task.pausedFrom,
    dateMs: task.dateMs,
    firstDateMs: task.firstDateMs,
    slotMs: task.slotMs,
    isRepetition: task.isRepetition,
    held: task.held,
    scheduleSinceMs: task.scheduleSinceMs,
    isDue: unless(DEFAULTS.isDue, task.isDue),
    run: unless(DEFAULTS.run, task.run),
    executions: unless(DEFAULTS.executions, task.executions),
    retries: unless(DEFAULTS.retries, task.retries),
    repetitions: unless(DEFAULTS.repetitions, task.repetitions),
    lost: unless(DEFAULTS.lost, task.lost),
    lostInRow: unless(DEFAULTS.lostInRow, task.lostInRow),
    missed: unless(DEFAULTS.missed, task.missed),
    lagMs: task.lagMs,
    durationMs: task.durationMs,
    lastOutcome: task.lastOutcome,
    isResultTruncated: task.isResultTruncated,
    error: task.error,
    attempt: task.attempt,
    settled: task.settled,
    fence: unless(DEFAULTS.fence, task.fence),
    firstTriedAtMs: task.firstTriedAtMs,
    createdBy: task.createdBy,
    createdAtMs: task.createdAtMs,
    updatedAtMs: task.updatedAtMs,
    startedAtMs: task.startedAtMs,
    finishedAtMs: task.finishedAtMs,
    purgeAtMs: task.purgeAtMs,
    historyCount: task.historyCount,
    historyHash: task.historyHash,
    historyFolded: task.historyFolded,
    parentId: task.parentId,
  };
  return JSON.stringify(body);
}

function unless<T>(common: T, value: T): T | undefined {
  return value === common ? undefined : value;
}

function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function hasMembers(record: Readonly<Record<string, string>>): boolean {
  for (const _ in record) return true;
  return false;
}

/** Decodes a body that {@linkcode encodeBody} made. */
export function decodeBody(text: string): TaskBody {
  // Nobody else writes bodies, so there is nothing to check.
  const body: Omit<TaskBody, keyof typeof DEFAULTS | MayBeEmpty> = JSON.parse(
    text,
  );
  return { ...DEFAULTS, dependencies: [], tags: [], metadata: {}, ...body };
}
