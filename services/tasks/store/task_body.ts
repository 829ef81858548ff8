/**
 * Writes what has no column of its own in a task as JSON text and reads it back,
 * and numbers the statuses. All databases hold the same.
 *
 * @module
 */

import { BLANK_TASK, type Task, type TaskStatus } from "../domain/task.ts";

/**
 * The fields of a task that have columns of their own and are read from them.
 */
type TaskColumns = Pick<
  Task,
  "tenantId" | "id" | "version" | "dataJson" | "resultJson"
>;

/**
 * The parts of a task as JSON text, without what has columns of its own. Some
 * fields are left out while they have the value of {@linkcode BLANK_TASK}.
 */
export interface TaskTexts {
  /** What its owner decided, which no start of the task changes. */
  readonly definition: string;
  /** What changes as the task runs. */
  readonly state: string;
}

/** Encodes a task's body: all of its fields except those with columns. */
export function encodeBody(task: Task): string {
  return joinBody({
    definition: encodeDefinition(task),
    state: encodeState(task),
  });
}

/** The body whose parts were encoded by themselves. */
export function joinBody({ definition, state }: TaskTexts): string {
  return `${definition.slice(0, -1)},${state.slice(1)}`;
}

/** The fields of {@linkcode encodeDefinition}. */
export const DEFINITION_FIELDS = [
  "createdBy",
  "createdAtMs",
  "parentId",
  "workerId",
  "job",
  "timezone",
  "repeat",
  "retry",
  "timeoutMs",
  "retain",
  "expiresAtMs",
  "dependencies",
  "onDependencyFailure",
  "priority",
  "group",
  "key",
  "callback",
  "tags",
  "metadata",
] as const satisfies readonly (keyof Task)[];

type DefinitionField = typeof DEFINITION_FIELDS[number];
/** All others, so that a new field of tasks is missed by the compiler. */
type StateField = Exclude<keyof Task, DefinitionField | keyof TaskColumns>;

/** Encodes the fields that only an edit changes. */
export function encodeDefinition(task: Task): string {
  const { tags, dependencies, metadata } = task;
  const fields: Record<DefinitionField, unknown> = {
    createdBy: task.createdBy,
    createdAtMs: task.createdAtMs,
    parentId: task.parentId,
    workerId: task.workerId,
    job: unlessBlank(task, "job"),
    timezone: unlessBlank(task, "timezone"),
    repeat: task.repeat,
    retry: task.retry,
    timeoutMs: task.timeoutMs,
    retain: task.retain,
    expiresAtMs: task.expiresAtMs,
    dependencies: dependencies.length === 0 ? undefined : dependencies,
    onDependencyFailure: unlessBlank(task, "onDependencyFailure"),
    priority: unlessBlank(task, "priority"),
    group: unlessBlank(task, "group"),
    key: task.key,
    callback: task.callback,
    tags: tags.length === 0 ? undefined : tags,
    metadata: hasMembers(metadata) ? metadata : undefined,
  };
  return JSON.stringify(fields);
}

/** Encodes the fields that change as the task runs. */
export function encodeState(task: Task): string {
  const fields: Record<StateField, unknown> = {
    status: task.status,
    pausedFrom: task.pausedFrom,
    dateMs: task.dateMs,
    firstDateMs: task.firstDateMs,
    slotMs: task.slotMs,
    isRepetition: task.isRepetition,
    held: task.held,
    scheduleSinceMs: task.scheduleSinceMs,
    startWithinMs: task.startWithinMs,
    calls: task.calls,
    again: task.again,
    isDue: unlessBlank(task, "isDue"),
    run: unlessBlank(task, "run"),
    executions: unlessBlank(task, "executions"),
    retries: unlessBlank(task, "retries"),
    repetitions: unlessBlank(task, "repetitions"),
    lost: unlessBlank(task, "lost"),
    lostInRow: unlessBlank(task, "lostInRow"),
    missed: unlessBlank(task, "missed"),
    lagMs: task.lagMs,
    durationMs: task.durationMs,
    lastOutcome: task.lastOutcome,
    isResultTruncated: task.isResultTruncated,
    error: task.error,
    attempt: task.attempt,
    settled: task.settled,
    wait: task.wait,
    fence: unlessBlank(task, "fence"),
    firstTriedAtMs: task.firstTriedAtMs,
    updatedAtMs: task.updatedAtMs,
    startedAtMs: task.startedAtMs,
    finishedAtMs: task.finishedAtMs,
    purgeAtMs: task.purgeAtMs,
    historyCount: task.historyCount,
    historyHash: task.historyHash,
    historyFolded: task.historyFolded,
  };
  return JSON.stringify(fields);
}

function unlessBlank<Field extends keyof typeof BLANK_TASK>(
  task: Pick<Task, Field>,
  field: Field,
): Task[Field] | undefined {
  return task[field] === BLANK_TASK[field] ? undefined : task[field];
}

function hasMembers(record: Readonly<Record<string, string>>): boolean {
  for (const _ in record) return true;
  return false;
}

/** Decodes a body that {@linkcode encodeBody} wrote. */
export function decodeBody(text: string, columns: TaskColumns): Task {
  // Only this program writes bodies, so their content need not be checked.
  return completeBody(JSON.parse(text), columns);
}

/** The task of a body and of what is not in it. */
export function completeBody(body: Partial<Task>, columns: TaskColumns): Task {
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

/**
 * The statuses in the order of their numbers, which never changes, since
 * databases hold the numbers.
 */
const STATUSES: readonly TaskStatus[] = [
  "scheduled",
  "blocked",
  "waiting",
  "running",
  "retry",
  "done",
  "paused",
  "complete",
  "failed",
  "canceled",
  "expired",
];

const CODES: ReadonlyMap<TaskStatus, number> = new Map(
  STATUSES.map((status, code) => [status, code]),
);

/** The number of `blocked`, which an index uses. */
export const BLOCKED_CODE = 1;

/** The number of `waiting`, which an index uses. */
export const WAITING_CODE = 2;

/** The number of `running`, which an index uses. */
export const RUNNING_CODE = 3;

/** The number of the first final status; those of live ones are less. */
export const FIRST_FINAL_CODE = 7;

/** The number of a status. */
export function statusCode(status: TaskStatus): number {
  const code = CODES.get(status);
  if (code === undefined) {
    throw new TypeError(`Cannot store status "${status}": it has no number`);
  }
  return code;
}

/** The status with a number. */
export function decodeStatus(code: number): TaskStatus {
  const status = STATUSES[code];
  if (status === undefined) {
    throw new TypeError(`Cannot read status ${code}: it has no name`);
  }
  return status;
}
