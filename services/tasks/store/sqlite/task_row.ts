/**
 * Converts tasks to rows and back. Fields that queries use have columns; all
 * others are in a JSON body, which leaves out common default values. Long
 * payloads have tables of their own. The ones used last are cached, so that a
 * task that only changes its status need not write them, and a read need not
 * read them again.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { computeStoredPlacement } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import { decodeBody, encodeBody, statusCode } from "../task_body.ts";
import { taskNumber } from "../task_id.ts";
import { type Reader, readNumber, readText, type Row } from "./reader.ts";
import type { OperationValue } from "./thread_messages.ts";

/**
 * The columns that a change may set, in the order of {@linkcode pushColumns}.
 */
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
  "failing_ms",
  "repeats",
  "awaits",
  "tags",
] as const;

/** The columns that {@linkcode TaskDecoder} reads. */
export const READ_COLUMNS: string =
  "tasks.n, tasks.id, tasks.version, tasks.body, tasks.data, tasks.data_at, " +
  "tasks.result, tasks.result_at";

/** The longest payload that is stored in the task's row, in characters. */
export const MAX_INLINE_CHARS = 2_048;

/** Where a payload is stored. */
export interface EncodedPayload {
  /** The payload, if it is stored in the row. */
  readonly inline: string | null;
  /** The task version that wrote the payload to the payload table. */
  readonly version: number | null;
}

/**
 * The number in a task's id.
 *
 * @throws {TypeError} when the text is not the id of a task
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
 * @throws {TypeError} when an instant is not in whole milliseconds; the
 * database would report that as a conflict
 */
export function pushColumns(
  values: OperationValue[],
  task: Task,
  { queueId, data, result }: PushColumnsOptions,
): void {
  const { rank, wakeAtMs, failingSinceMs, awaits } = computeStoredPlacement(
    task,
  );
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
    failingSinceMs ?? null,
    task.repeat === undefined ? null : 1,
    awaits ?? null,
    task.tags.length === 0 ? null : JSON.stringify(task.tags),
  );
}

/** Builds tasks from rows with {@linkcode READ_COLUMNS}. */
export class TaskDecoder {
  readonly #reader: Reader;
  readonly #cache: PayloadCache;

  /** Takes the reader and the cache of payloads that are not in the row. */
  constructor(reader: Reader, cache: PayloadCache) {
    this.#reader = reader;
    this.#cache = cache;
  }

  /**
   * Builds the task of a row. It must still be in the snapshot in which the row
   * was read, since payloads may be read from other tables.
   */
  decode(row: Row, tenantId: string): Task {
    const id = readText(row, "id");
    return decodeBody(readText(row, "body"), {
      tenantId,
      id,
      version: readNumber(row, "version"),
      dataJson: this.#payload(row, "data", id) ?? "null",
      resultJson: this.#payload(row, "result", id),
    });
  }

  #payload(row: Row, kind: PayloadKind, id: string): string | undefined {
    const version = row[`${kind}_at`];
    if (typeof version !== "number") {
      return row[kind] === null ? undefined : readText(row, kind);
    }
    const cached = this.#cache.get(kind, id);
    if (cached?.version === version) return cached.text;
    const table = kind === "data" ? "task_data" : "task_results";
    const text = this.#reader.text(
      `SELECT text FROM ${table} WHERE n = ?`,
      readNumber(row, "n"),
    );
    if (text === undefined) {
      throw new Error(`Cannot read task "${id}": its ${kind} is not there`);
    }
    this.#cache.set(kind, id, { version, text });
    return text;
  }
}

/** A payload with the version of the task that wrote it. */
export interface StoredPayload {
  /** The version. */
  readonly version: number;
  /** The payload. */
  readonly text: string;
}

/** The kinds of payloads. */
export type PayloadKind = "data" | "result";

/**
 * A cache of long payloads; beyond its size, those unused for longest are
 * evicted.
 */
export class PayloadCache {
  readonly #payloads: BoundedMap<string, StoredPayload>;

  /** Creates a cache of at most `maxChars` characters. */
  constructor(maxChars: number) {
    this.#payloads = new BoundedMap({
      maxEntries: Infinity,
      maxWeight: maxChars,
      weigh: ({ text }) => text.length,
    });
  }

  /** The cached payload of a task. */
  get(kind: PayloadKind, id: string): StoredPayload | undefined {
    // Most stores have only short payloads, which are in the rows, so the cache
    // is empty.
    if (this.#payloads.size === 0) return undefined;
    return this.#payloads.get(`${kind} ${id}`);
  }

  /** Caches a payload that is in the database. */
  set(kind: PayloadKind, id: string, payload: StoredPayload): void {
    this.#payloads.set(`${kind} ${id}`, payload);
  }

  /** Removes the payload of a task from the cache. */
  delete(kind: PayloadKind, id: string): void {
    if (this.#payloads.size === 0) return;
    this.#payloads.delete(`${kind} ${id}`);
  }
}
