/**
 * Tasks as rows: columns for the fields that queries use, and a body of JSON for all
 * others, which leaves out what most tasks have in common.
 * Long payloads have tables of their own; those used last are cached, so that a task
 * that only changes its status need not write them, nor a read read them again.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { storedPlacementOf } from "../../domain/placement.ts";
import { BLANK_TASK, type Task, type TaskStatus } from "../../domain/task.ts";
import { taskNumber } from "../task_id.ts";
import { numberOf, type Reader, type Row, textOf } from "./reader.ts";
import type { OperationValue } from "./thread_messages.ts";

/** The columns that a change may set, in the order of {@linkcode pushColumns}. */
export const CHANGING_COLUMNS = [
  "version",
  "status",
  "lane",
  "grp",
  "job",
  "key",
  "date_ms",
  "finished_ms",
  "rank",
  "wake_ms",
  "body",
  "data",
  "data_at",
  "result",
  "result_at",
] as const;

/** The columns that {@linkcode TaskDecoder} reads. */
export const READ_COLUMNS: string =
  "tasks.n, tasks.id, tasks.version, tasks.body, tasks.data, tasks.data_at, " +
  "tasks.result, tasks.result_at";

/** Longer payloads are kept in a table of their own. */
export const MAX_INLINE_CHARS = 2_048;

/** Where a payload is, or is to be, stored. */
export interface EncodedPayload {
  /** In the row. */
  readonly inline: string | null;
  /** The version that wrote it to its own table. */
  readonly version: number | null;
}

/**
 * The number in a task's id.
 *
 * @throws {TypeError} when it is no id of a task
 */
export function numberOfTask(id: string): number {
  const number = taskNumber(id);
  if (number === undefined) {
    throw new TypeError(`Cannot store the task: its id "${id}" is not valid`);
  }
  return number;
}

/** Options of {@linkcode pushColumns}. */
interface PushColumnsOptions {
  /** The number of its worker's queue. */
  readonly queueId: number;
  /** Where its data is stored. */
  readonly data: EncodedPayload;
  /** Where its result is stored. */
  readonly result: EncodedPayload;
}

/**
 * Adds the values of {@linkcode CHANGING_COLUMNS} to `values`.
 *
 * @throws {TypeError} when an instant is not in whole milliseconds; the database
 * would take that for a conflict
 */
export function pushColumns(
  values: OperationValue[],
  task: Task,
  { queueId, data, result }: PushColumnsOptions,
): void {
  const { rank, wakeAtMs } = storedPlacementOf(task);
  values.push(
    task.version,
    statusCode(task.status),
    queueId,
    task.group,
    task.job,
    task.key ?? null,
    task.dateMs,
    task.finishedAtMs ?? null,
    rank ?? null,
    wakeAtMs ?? null,
    encodeBody(task),
    data.inline,
    data.version,
    result.inline,
    result.version,
  );
}

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

/** Makes tasks of rows with {@linkcode READ_COLUMNS}. */
export class TaskDecoder {
  readonly #reader: Reader;
  readonly #cache: PayloadCache;

  /** A decoder that reads payloads outside the row from `reader`. */
  constructor(reader: Reader, cache: PayloadCache) {
    this.#reader = reader;
    this.#cache = cache;
  }

  /** The task of a row; both must come from one snapshot. */
  decode(row: Row, tenantId: string): Task {
    const id = textOf(row, "id");
    return decodeBody(textOf(row, "body"), {
      tenantId,
      id,
      version: numberOf(row, "version"),
      dataJson: this.#payload(row, "data", id) ?? "null",
      resultJson: this.#payload(row, "result", id),
    });
  }

  #payload(row: Row, kind: PayloadKind, id: string): string | undefined {
    const version = row[`${kind}_at`];
    if (typeof version !== "number") {
      return row[kind] === null ? undefined : textOf(row, kind);
    }
    const cached = this.#cache.get(kind, id);
    if (cached?.version === version) return cached.text;
    const table = kind === "data" ? "task_data" : "task_results";
    const text = this.#reader.text(
      `SELECT text FROM ${table} WHERE n = ?`,
      numberOf(row, "n"),
    );
    if (text === undefined) {
      throw new Error(`Cannot read task "${id}": its ${kind} is not there`);
    }
    this.#cache.set(kind, id, { version, text });
    return text;
  }
}

/** In the order of their numbers, which never changes: files hold it. */
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

/** The number of `blocked`, which an index names. */
export const BLOCKED_CODE = 1;

/** The number of `waiting`, which an index names. */
export const WAITING_CODE = 2;

/** The number of `running`, which an index names. */
export const RUNNING_CODE = 3;

/** The number of a status. */
export function statusCode(status: TaskStatus): number {
  const code = CODES.get(status);
  if (code === undefined) {
    throw new TypeError(`Cannot store status "${status}": it has no number`);
  }
  return code;
}

/** The status of a number. */
export function statusOf(code: number): TaskStatus {
  const status = STATUSES[code];
  if (status === undefined) {
    throw new TypeError(`Cannot read status ${code}: it has no name`);
  }
  return status;
}

/** A payload and the version of the task that wrote it. */
export interface StoredPayload {
  /** The version. */
  readonly version: number;
  /** The payload. */
  readonly text: string;
}

/** The kinds of payloads. */
export type PayloadKind = "data" | "result";

/** Remembers payloads up to a bound, those used last. */
export class PayloadCache {
  readonly #payloads: BoundedMap<string, StoredPayload>;

  /** A cache of at most `maxChars` characters. */
  constructor(maxChars: number) {
    this.#payloads = new BoundedMap({
      maxEntries: Infinity,
      maxWeight: maxChars,
      weightOf: ({ text }) => text.length,
    });
  }

  /** The payload that was last seen of a task. */
  get(kind: PayloadKind, id: string): StoredPayload | undefined {
    // Most stores have short payloads alone: those are in their rows.
    if (this.#payloads.size === 0) return undefined;
    return this.#payloads.get(`${kind} ${id}`);
  }

  /** Remembers a payload that is in the database. */
  set(kind: PayloadKind, id: string, payload: StoredPayload): void {
    this.#payloads.set(`${kind} ${id}`, payload);
  }

  /** Forgets the payload of a task. */
  delete(kind: PayloadKind, id: string): void {
    if (this.#payloads.size === 0) return;
    this.#payloads.delete(`${kind} ${id}`);
  }
}
