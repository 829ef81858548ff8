/**
 * Counts how many tasks of each worker, and of each of its jobs, are in each
 * status, in the same transactions that change the tasks.
 *
 * Triggers would see every change, too, but they make SQLite keep a journal for
 * each statement: a batch of new tasks took 1.8 times as long with them. So the
 * changes of a group are summed up here and written once at its end.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";
import type { ConflictReason } from "../result_codes.ts";
import { FIRST_FINAL_CODE } from "../task_body.ts";
import { openReading } from "./database_file.ts";
import { joined, type ListPlace, rangesBehind } from "./list_stream.ts";
import type { PiecewiseRead } from "./read_turns.ts";
import { Reader, readNumber, readText } from "./reader.ts";
import { GroupSums } from "./table_writers.ts";
import type {
  CountFault,
  OperationCursor,
  OperationValue,
} from "./thread_messages.ts";

/** Where a task is counted: by its worker, its status and its job. */
export interface CountedPlace {
  /** The number of the worker's queue. */
  readonly queueId: OperationValue;
  /** The number of the status. */
  readonly status: OperationValue;
  /** The job. */
  readonly job: OperationValue;
}

/** Where a task is counted, and how lists find it by its tags. */
export interface StoredPlace extends CountedPlace {
  /** Its tags as the JSON text of a list; null when it has none. */
  readonly tags: string | null;
  /** Its date. */
  readonly dateMs: number;
}

const ADD_COUNT = "INSERT INTO task_counts VALUES(?, ?, ?, ?) " +
  "ON CONFLICT DO UPDATE SET count = count + excluded.count";
const ADD_JOB_COUNT = "INSERT INTO job_counts VALUES(?, ?, ?, ?, ?) " +
  "ON CONFLICT DO UPDATE SET count = count + excluded.count";

/** Updates the tables `task_counts` and `job_counts`. */
export class TaskCounts {
  readonly #before: StatementSync;
  readonly #countLive: StatementSync;
  readonly #addCount: StatementSync;
  readonly #sums: GroupSums;
  /**
   * By how many the live tasks of tenants have changed in the group, and in the
   * transaction, which belongs to one tenant.
   */
  readonly #liveChanges = new Map<OperationValue, number>();
  #liveChange = 0;
  #tenant: OperationValue = null;
  /** How many live tasks the transaction has asked room for. */
  #asked = 0;
  /** The live tasks that tenants had before the group, as far as asked. */
  readonly #liveBefore = new Map<OperationValue, number>();

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#before = db.prepare(
      "SELECT lane, status, job, date_ms, tags FROM tasks WHERE n = ?",
    );
    this.#countLive = db.prepare(
      "SELECT sum(count) AS live FROM task_counts " +
        `WHERE tenant = ? AND status < ${FIRST_FINAL_CODE}`,
    );
    this.#addCount = db.prepare(ADD_COUNT);
    this.#sums = new GroupSums(db.prepare(ADD_JOB_COUNT));
  }

  /**
   * Begins a group, and forgets the changes of a group that was rolled back.
   */
  beginGroup(): void {
    this.#sums.beginGroup();
    this.#liveChanges.clear();
    this.#liveBefore.clear();
    this.#liveChange = 0;
    this.#asked = 0;
  }

  /** The place of a task before it is changed; undefined when there is none. */
  findPlace(n: OperationValue): StoredPlace | undefined {
    const row = this.#before.get(n);
    return row && {
      queueId: readNumber(row, "lane"),
      status: readNumber(row, "status"),
      job: readText(row, "job"),
      tags: row["tags"] === null ? null : readText(row, "tags"),
      dateMs: readNumber(row, "date_ms"),
    };
  }

  /**
   * Counts a task that moved; without `from` it was inserted, without `to`
   * removed.
   */
  move(
    tenant: OperationValue,
    { from, to }: {
      readonly from?: CountedPlace | undefined;
      readonly to?: CountedPlace | undefined;
    },
  ): void {
    const isSame = from?.queueId === to?.queueId &&
      from?.status === to?.status && from?.job === to?.job;
    if (isSame) return;
    if (from !== undefined) this.#sums.add(countedRow(tenant, from), -1);
    if (to !== undefined) this.#sums.add(countedRow(tenant, to), 1);
    this.#tenant = tenant;
    this.#liveChange += countLive(to) - countLive(from);
  }

  /**
   * Requires that a tenant has room for more live tasks. They are counted once
   * in a group, and only for tenants whose plan has a limit.
   */
  requireRoom(cursor: OperationCursor): ConflictReason | undefined {
    const tenant = cursor.next();
    const [adds, limit] = [cursor.number(), cursor.number()];
    let before = this.#liveBefore.get(tenant);
    if (before === undefined) {
      before = Number(this.#countLive.get(tenant)?.["live"] ?? 0);
      this.#liveBefore.set(tenant, before);
    }
    this.#asked += adds;
    const changed = this.#liveChanges.get(tenant) ?? 0;
    return before + changed + this.#asked > limit ? "quota" : undefined;
  }

  /** Ends a transaction; its changes count only if it was applied. */
  endTransaction(isApplied: boolean): void {
    this.#sums.endTransaction(isApplied);
    if (isApplied && this.#liveChange !== 0) {
      const before = this.#liveChanges.get(this.#tenant) ?? 0;
      this.#liveChanges.set(this.#tenant, before + this.#liveChange);
    }
    this.#liveChange = 0;
    this.#asked = 0;
  }

  /** Writes the counts before the group is committed. */
  endGroup(): void {
    const queues = new Map<string, { row: OperationValue[]; by: number }>();
    for (const { row: [tenant, lane, status], by } of this.#sums.sums) {
      const key = `${tenant} ${lane} ${status}`;
      const queue = queues.get(key);
      if (queue !== undefined) queue.by += by;
      else {
        queues.set(key, {
          row: [tenant ?? null, lane ?? null, status ?? null],
          by,
        });
      }
    }
    for (const { row, by } of queues.values()) {
      if (by !== 0) this.#addCount.run(...row, by);
    }
    this.#sums.endGroup();
  }
}

function countedRow(
  tenant: OperationValue,
  { queueId, status, job }: CountedPlace,
): OperationValue[] {
  return [tenant, queueId, status, job];
}

/** 1 for a place of live tasks, else 0. */
function countLive(place: CountedPlace | undefined): number {
  return place !== undefined && Number(place.status) < FIRST_FINAL_CODE ? 1 : 0;
}

/** How many tasks are counted in one piece, which takes about a millisecond. */
const PIECE = 20_000;

/** How many rows of tasks are read in one piece, for their jobs. */
const JOBS_OF_A_PIECE = 1_000;

/**
 * Counts all tasks of the database at a path, and returns the stored counts
 * that are wrong. For each worker and status, the tasks and the stored count
 * are read from the same state of the database, so this needs a connection of
 * its own.
 */
export function* proveCounts(
  path: string,
): PiecewiseRead<readonly CountFault[]> {
  const reader = new Reader(openReading(path));
  try {
    return yield* proveAll(reader);
  } finally {
    reader.close();
  }
}

/**
 * Like {@linkcode proveCounts}, over a connection that is used for nothing
 * else.
 */
export function* proveAll(
  reader: Reader,
): PiecewiseRead<readonly CountFault[]> {
  const faults: CountFault[] = [];
  let queueId = -1;
  while (true) {
    const row = reader.row(
      "SELECT lane, tenant FROM lanes WHERE lane > ? ORDER BY lane LIMIT 1",
      queueId,
    );
    if (row === undefined) return faults;
    queueId = readNumber(row, "lane");
    const tenant = readNumber(row, "tenant");
    for (const status of listStatuses(reader, { tenant, queueId })) {
      const state = reader.hold();
      const kept = reader.number(
        "SELECT count FROM task_counts " +
          "WHERE tenant = ? AND lane = ? AND status = ?",
        tenant,
        queueId,
        status,
      ) ?? 0;
      const place = { tenant, queueId, status };
      const counted = yield* count(reader, place);
      if (counted !== kept) faults.push({ ...place, delta: counted - kept });
      const ofJobs = reader.number(
        "SELECT sum(count) FROM job_counts " +
          "WHERE tenant = ? AND lane = ? AND status = ?",
        tenant,
        queueId,
        status,
      ) ?? 0;
      // The index has no jobs, so tasks are read only where the sum is wrong.
      if (counted !== ofJobs) faults.push(...yield* proveJobs(reader, place));
      state.release();
    }
    yield;
  }
}

/** The statuses that have tasks, or a stored count that is not 0. */
function listStatuses(
  reader: Reader,
  { tenant, queueId }: Pick<CountFault, "tenant" | "queueId">,
): ReadonlySet<number> {
  const statuses = new Set(
    reader.rows(
      "SELECT status FROM task_counts " +
        "WHERE tenant = ? AND lane = ? AND count <> 0",
      tenant,
      queueId,
    ).map((row) => readNumber(row, "status")),
  );
  let status: number | undefined = -1;
  while (true) {
    status = reader.number(
      "SELECT status FROM tasks INDEXED BY tasks_by_date " +
        "WHERE tenant = ? AND lane = ? AND status > ? ORDER BY status LIMIT 1",
      tenant,
      queueId,
      status,
    );
    if (status === undefined) return statuses;
    statuses.add(status);
  }
}

/** Where tasks of all jobs are counted. */
type Queue = Pick<CountFault, "tenant" | "queueId" | "status">;

/** The counts of jobs that are wrong, in a state that the caller holds. */
function* proveJobs(
  reader: Reader,
  queue: Queue,
): Generator<void, readonly CountFault[]> {
  const values = [queue.tenant, queue.queueId, queue.status];
  const deltas = new Map<string, number>();
  for (
    const row of reader.rows(
      "SELECT job, count FROM job_counts " +
        "WHERE tenant = ? AND lane = ? AND status = ?",
      ...values,
    )
  ) deltas.set(readText(row, "job"), -readNumber(row, "count"));
  let [atMs, n] = [Number.MIN_SAFE_INTEGER, -1];
  while (true) {
    yield;
    const rows = reader.rows(
      "SELECT date_ms, n, job FROM tasks INDEXED BY tasks_by_date " +
        "WHERE tenant = ? AND lane = ? AND status = ? AND " +
        "(date_ms, n) > (?, ?) ORDER BY date_ms, n LIMIT ?",
      ...values,
      atMs,
      n,
      JOBS_OF_A_PIECE,
    );
    for (const row of rows) {
      const job = readText(row, "job");
      deltas.set(job, (deltas.get(job) ?? 0) + 1);
      [atMs, n] = [readNumber(row, "date_ms"), readNumber(row, "n")];
    }
    if (rows.length < JOBS_OF_A_PIECE) break;
  }
  return Array.from(deltas, ([job, delta]) => ({ ...queue, job, delta }))
    .filter(({ delta }) => delta !== 0);
}

function* count(
  reader: Reader,
  { tenant, queueId, status }: Queue,
): Generator<void, number> {
  const pair = {
    sql: "tenant = ? AND lane = ? AND status = ?",
    values: [tenant, queueId, status],
  };
  let counted = 0;
  let after: ListPlace | undefined;
  do {
    const ranges = rangesBehind({ order: "asc" }, { column: "date_ms", after });
    after = undefined;
    for (const bounds of ranges) {
      const { sql, values } = joined([pair, ...bounds]);
      const from = `FROM tasks INDEXED BY tasks_by_date WHERE ${sql}`;
      const row = reader.row(
        `SELECT date_ms AS at, n ${from} ` +
          "ORDER BY date_ms, n LIMIT 1 OFFSET ?",
        ...values,
        PIECE - 1,
      );
      if (row !== undefined) {
        after = { at: readNumber(row, "at"), n: readNumber(row, "n") };
        counted += PIECE;
        break;
      }
      counted += reader.number(`SELECT count(*) ${from}`, ...values) ?? 0;
    }
    yield;
  } while (after !== undefined);
  return counted;
}

/**
 * Adds the differences to the stored counts, so that tasks counted since then
 * stay counted.
 */
export function repairCounts(
  db: DatabaseSync,
  faults: readonly CountFault[],
): void {
  const add = db.prepare(ADD_COUNT);
  const addOfJob = db.prepare(ADD_JOB_COUNT);
  inTransaction(db, () => {
    for (const { tenant, queueId, status, job, delta } of faults) {
      if (job === undefined) add.run(tenant, queueId, status, delta);
      else addOfJob.run(tenant, queueId, status, job, delta);
    }
  });
}
