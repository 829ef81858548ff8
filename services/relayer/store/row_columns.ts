/**
 * Maps the members of row objects to the columns of tables, which are the same
 * in all engines. Each mapping is written once, for reading and for writing.
 *
 * @module
 */

import type {
  JobRow,
  JobStatus,
  MemoryRow,
  RateWindow,
  Tombstone,
} from "./rows.ts";
import type { NamespaceRow } from "./store.ts";

/** A value of a column. */
type ColumnValue = string | number | Uint8Array | null;

/** Requires that each member of a row has a type that databases can store. */
type Storable<Row> = {
  readonly [Member in keyof Row]: ColumnValue | undefined;
};

/** The mapping between a row's members and a table's columns. */
export class RowColumns<Row extends Storable<Row>> {
  /** What a query selects: each column under the name of its member. */
  readonly selected: string;
  /** The columns and a question mark for each, as an `INSERT` names them. */
  readonly inserted: string;
  readonly #members: readonly (keyof Row & string)[];
  readonly #absent: ReadonlySet<string>;

  /**
   * Makes the mapping.
   *
   * @param columns The name of the column of each member.
   * @param absent Members that are undefined where the column is `NULL`; all
   * others are null there.
   */
  constructor(
    columns: { readonly [Member in keyof Row & string]-?: string },
    absent: readonly (keyof Row & string)[],
  ) {
    const pairs = Object.entries<string>(columns);
    const names = pairs.map(([, column]) => column);
    this.selected = pairs.map(([member, column]) => `${column} AS "${member}"`)
      .join(", ");
    this.inserted = `(${names.join(", ")}) VALUES(${
      names.fill("?").join(", ")
    })`;
    this.#members = pairs.map(([member]) => member as keyof Row & string);
    this.#absent = new Set(absent);
  }

  /** Turns a record selected by {@linkcode RowColumns.selected} into a row. */
  readRow(record: Readonly<Record<string, unknown>>): Row {
    const row: Partial<Record<keyof Row, unknown>> = {};
    for (const member of this.#members) {
      const value = record[member] ?? null;
      row[member] = value === null && this.#absent.has(member)
        ? undefined
        : value;
    }
    return row as Row;
  }

  /** The values of a row, in the order of {@linkcode RowColumns.inserted}. */
  toValues(row: Row): ColumnValue[] {
    return this.#members.map((member) => row[member] ?? null);
  }
}

const MEMORY_COLUMNS = {
  id: "id",
  owner: "owner",
  namespace: "namespace",
  blobId: "blob_id",
  sizeBytes: "size_bytes",
  createdAtMs: "created_ms",
  agentId: "agent_id",
  packageId: "package_id",
  importance: "importance",
  keyId: "key_id",
  sealedIndex: "sealed_index",
  supersedes: "supersedes",
  updatedAtMs: "updated_ms",
  change: "change",
  supersededBy: "superseded_by",
} as const;

const ABSENT_OF_MEMORIES = ["keyId", "supersedes", "supersededBy"] as const;

/** The table of memories. */
export const MEMORIES: RowColumns<MemoryRow> = new RowColumns<MemoryRow>(
  MEMORY_COLUMNS,
  ABSENT_OF_MEMORIES,
);

/** Memories whose last change is a new vector, by the number of that. */
export const MEMORIES_BY_VECTOR: RowColumns<MemoryRow> = new RowColumns<
  MemoryRow
>({ ...MEMORY_COLUMNS, change: "reindexed_change" }, ABSENT_OF_MEMORIES);

/** The table of tombstones. */
export const TOMBSTONES: RowColumns<Tombstone> = new RowColumns<Tombstone>({
  id: "id",
  namespace: "namespace",
  deletedAtMs: "deleted_ms",
  change: "change",
}, []);

/** The table of namespaces. */
export const NAMESPACES: RowColumns<NamespaceRow> = new RowColumns<
  NamespaceRow
>({
  name: "name",
  memoryCount: "memory_count",
  storageBytes: "storage_bytes",
  updatedAtMs: "updated_ms",
  change: "change",
}, []);

/** The table of rate windows. */
export const WINDOWS: RowColumns<RateWindow> = new RowColumns<RateWindow>({
  minute: "minute",
  name: "name",
  points: "points",
}, []);

/**
 * The index of each status is its number in the table and must never change.
 */
export const STATUSES: readonly JobStatus[] = [
  "pending",
  "running",
  "uploaded",
  "done",
  "failed",
];

/** The first status number of finished jobs; lower ones are unfinished. */
export const FIRST_FINISHED = 3;

/** What is true of deleted jobs alone, in SQL: they failed without a payload. */
export const IS_DELETED = `status = ${
  STATUSES.indexOf("failed")
} AND payload_bytes = 0`;

/** A job without its payload, which is in a table of its own. */
export interface StoredJob
  extends Omit<JobRow, "payload" | "status" | "leasedBy" | "leasedUntilMs"> {
  /** The place of its status in {@linkcode STATUSES}. */
  readonly status: number;
  /** The length of its payload. */
  readonly payloadBytes: number;
}

/** The table of jobs. */
export const JOBS: RowColumns<StoredJob> = new RowColumns<StoredJob>({
  id: "id",
  owner: "owner",
  namespace: "namespace",
  agentId: "agent_id",
  status: "status",
  nextAttemptAtMs: "next_attempt_ms",
  createdAtMs: "created_ms",
  keyId: "key_id",
  importance: "importance",
  supersedes: "supersedes",
  contentHash: "content_hash",
  version: "version",
  attempts: "attempts",
  updatedAtMs: "updated_ms",
  blobId: "blob_id",
  error: "error",
  payloadBytes: "payload_bytes",
}, ["supersedes", "contentHash", "blobId", "error"]);

/** The first status number of jobs for which a request waits no longer. */
export const FIRST_SETTLED = 2;

/** Whether a job of this status is still to be worked on. */
export function isUnfinished(status: number): boolean {
  return status < FIRST_FINISHED;
}

/**
 * Turns a record into a job.
 *
 * @throws {RangeError} when the job has a status of a later program
 */
export function readJob(
  record: Readonly<Record<string, unknown>>,
): JobRow {
  const { status: code, payloadBytes: _, ...job } = JOBS.readRow(record);
  const status = STATUSES[code];
  if (status === undefined) {
    throw new RangeError(`Cannot read job: its status is ${code}`);
  }
  const { payload } = record;
  return {
    ...job,
    status,
    payload: payload instanceof Uint8Array ? payload : undefined,
  };
}
