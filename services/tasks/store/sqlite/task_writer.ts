/**
 * Writes tasks with their payloads, histories and dependencies.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ConflictReason } from "../result_codes.ts";
import { RowInserter } from "./row_inserter.ts";
import { HistoryRemover } from "./table_writers.ts";
import { TagWriter } from "./tag_writer.ts";
import type { StoredPlace, TaskCounts } from "./task_counts.ts";
import { CHANGING_COLUMNS } from "./task_row.ts";
import type { OperationCursor, OperationValue } from "./thread_messages.ts";

const IDENTITY_COLUMNS = ["n", "id", "tenant", "created_ms"] as const;
const TASK_COLUMNS = [...IDENTITY_COLUMNS, ...CHANGING_COLUMNS];
const TASK_WIDTH = TASK_COLUMNS.length;
const DATA_AT = TASK_COLUMNS.indexOf("data_at");
const RESULT_AT = TASK_COLUMNS.indexOf("result_at");
const STATUS = TASK_COLUMNS.indexOf("status");
const QUEUE = TASK_COLUMNS.indexOf("lane");
const JOB = TASK_COLUMNS.indexOf("job");
const DATE = TASK_COLUMNS.indexOf("date_ms");
const TAGS = TASK_COLUMNS.indexOf("tags");
const HISTORY_WIDTH = 4;

/**
 * Tasks that were to be inserted together cannot be, because one of them
 * conflicts.
 */
export class BatchMismatch extends Error {
  /** The name in logs. */
  override readonly name = "BatchMismatch";

  /** Creates the error, after which the tasks are inserted one by one. */
  constructor() {
    super("Cannot insert the tasks together: one of them conflicts");
  }
}

/** Writes tasks. */
export class TaskWriter {
  readonly #insert: RowInserter;
  readonly #update: StatementSync;
  readonly #find: StatementSync;
  readonly #remove: StatementSync;
  readonly #putData: StatementSync;
  readonly #putResult: StatementSync;
  readonly #removeData: StatementSync;
  readonly #removeResult: StatementSync;
  readonly #addHistory: RowInserter;
  readonly #histories: HistoryRemover;
  readonly #hasDependents: StatementSync;
  readonly #addDependent: StatementSync;
  readonly #removeDependents: StatementSync;
  readonly #counts: TaskCounts;
  readonly #tags: TagWriter;
  /**
   * False while no task depends on another; dependents are then not looked for.
   */
  #mayHaveDependents: boolean;
  /** Rows of new tasks that wait, so that several are inserted at once. */
  #waitingTasks: OperationValue[] = [];
  #waitingHistory: OperationValue[] = [];
  #mayTaskWait = false;
  #mayHistoryWait = false;

  /**
   * Prepares the statements; `counts` is told when tasks are inserted, moved or
   * removed.
   */
  constructor(db: DatabaseSync, counts: TaskCounts) {
    this.#counts = counts;
    this.#tags = new TagWriter(db);
    // IGNORE skips a row whose number or key is taken.
    this.#insert = new RowInserter(db, {
      insert: `INSERT OR IGNORE INTO tasks(${TASK_COLUMNS.join()}) VALUES`,
      width: TASK_WIDTH,
    });
    this.#update = db.prepare(
      `UPDATE OR IGNORE tasks SET ` +
        CHANGING_COLUMNS.map((column) => `${column} = ?`).join() +
        " WHERE n = ? AND id = ? AND tenant = ? AND version = ?",
    );
    this.#find = db.prepare(
      "SELECT id, tenant, version, data_at, result_at FROM tasks WHERE n = ?",
    );
    this.#remove = db.prepare(
      "DELETE FROM tasks WHERE n = ? AND id = ? AND tenant = ? AND version = ?",
    );
    const putAside = (table: string) =>
      db.prepare(`INSERT OR REPLACE INTO ${table} VALUES(?, ?)`);
    this.#putData = putAside("task_data");
    this.#putResult = putAside("task_results");
    this.#removeData = db.prepare("DELETE FROM task_data WHERE n = ?");
    this.#removeResult = db.prepare("DELETE FROM task_results WHERE n = ?");
    this.#addHistory = new RowInserter(db, {
      insert: "INSERT INTO history VALUES",
      width: HISTORY_WIDTH,
    });
    this.#histories = new HistoryRemover(db);
    this.#hasDependents = db.prepare(
      "SELECT EXISTS(SELECT 1 FROM dependents) AS there",
    );
    this.#addDependent = db.prepare(
      "INSERT INTO dependents VALUES(?, ?, ?)",
    );
    this.#removeDependents = db.prepare("DELETE FROM dependents WHERE n = ?");
    this.#mayHaveDependents = this.#hasDependents.get()?.["there"] === 1;
  }

  /** Reads the state of the tables again, after a group was rolled back. */
  forget(): void {
    this.#mayHaveDependents = this.#hasDependents.get()?.["there"] === 1;
  }

  /** Begins a group. */
  beginGroup(): void {
    this.#waitingTasks = [];
    this.#waitingHistory = [];
    this.#tags.forget();
  }

  /**
   * Begins a transaction. Its rows may wait for others unless it may have to be
   * undone.
   */
  beginTransaction(
    transaction: { readonly mayWait: boolean; readonly isCreation: boolean },
  ): void {
    this.#mayHistoryWait = transaction.mayWait;
    this.#mayTaskWait = transaction.mayWait && transaction.isCreation;
  }

  /** Forgets what waits of a transaction that was undone. */
  undo(): void {
    this.#tags.forget();
  }

  /**
   * Writes the waiting rows.
   *
   * @throws {BatchMismatch} when one of the tasks cannot be inserted
   */
  flush(): void {
    this.#flushTasks();
    this.#tags.flush();
    const rows = this.#waitingHistory;
    this.#waitingHistory = [];
    this.#addHistory.run(rows);
  }

  /** Inserts or updates a task. */
  put(cursor: OperationCursor): ConflictReason | undefined {
    const expectedVersion = cursor.number();
    const row = cursor.take(TASK_WIDTH);
    const [n = null, id = null, tenant = null, createdMs = null] = row;
    const [tags = null, dateMs = null] = [row[TAGS], row[DATE]];
    const tagged = { tenant, n, createdMs, tags, dateMs };
    const [data, result] = [cursor.next(), cursor.next()];
    let from: StoredPlace | undefined;
    if (this.#mayTaskWait) {
      this.#waitingTasks.push(...row);
      this.#tags.add(tagged);
    } else {
      this.#flushTasks();
      const kept: KeptPayloads = {
        data_at: data === null ? row[DATA_AT] ?? null : null,
        result_at: result === null ? row[RESULT_AT] ?? null : null,
      };
      if (!this.#isKept(n, kept)) return "version";
      if (expectedVersion !== 0) from = this.#counts.findPlace(n);
      const changes = expectedVersion === 0
        ? this.#insert.run(row)
        : this.#update.run(
          ...row.slice(IDENTITY_COLUMNS.length),
          n,
          id,
          tenant,
          expectedVersion,
        ).changes;
      if (changes === 0) return this.#findReason(row, expectedVersion);
      if (from === undefined) this.#tags.add(tagged);
      else this.#tags.change(tagged, from);
    }
    this.#counts.move(tenant, {
      from,
      to: {
        queueId: row[QUEUE] ?? null,
        status: row[STATUS] ?? null,
        job: row[JOB] ?? null,
      },
    });
    if (typeof data === "string") this.#putData.run(n, data);
    if (typeof result === "string") this.#putResult.run(n, result);
    this.#putDependents(cursor, n, tenant);
    for (let left = cursor.number(); left > 0; left--) {
      const record = cursor.take(HISTORY_WIDTH - 1);
      if (this.#mayHistoryWait) this.#waitingHistory.push(n, ...record);
      else this.#addHistory.run([n, ...record]);
    }
    return undefined;
  }

  /** Changes a task and removes the beginning of its history. */
  putFolded(cursor: OperationCursor): ConflictReason | undefined {
    const reason = this.put(cursor);
    if (reason !== undefined) return reason;
    const [n = null, through = null] = cursor.take(2);
    this.flush();
    this.#histories.fold(n, through);
    return undefined;
  }

  /** Removes a task, or requires that it does not exist. */
  remove(cursor: OperationCursor): ConflictReason | undefined {
    const n = cursor.number();
    const [tenant = null, id = null, version = null] = cursor.take(3);
    this.flush();
    if (version === 0) {
      return this.#find.get(n) === undefined ? undefined : "version";
    }
    const from = this.#counts.findPlace(n);
    const { changes } = this.#remove.run(n, id, tenant, version);
    if (changes === 0) return "version";
    this.#counts.move(tenant, { from });
    if (from !== undefined) this.#tags.remove({ tenant, n }, from);
    this.#removeData.run(n);
    this.#removeResult.run(n);
    if (this.#mayHaveDependents) this.#removeDependents.run(n);
    this.#histories.remove(n);
    return undefined;
  }

  #flushTasks(): void {
    const rows = this.#waitingTasks;
    if (rows.length === 0) return;
    this.#waitingTasks = [];
    const changes = this.#insert.run(rows);
    if (changes !== rows.length / TASK_WIDTH) throw new BatchMismatch();
  }

  /**
   * Tells whether the payloads that were not sent are those in the database.
   * They are, unless the caller read an older version of the task.
   */
  #isKept(n: OperationValue, kept: KeptPayloads): boolean {
    if (kept.data_at === null && kept.result_at === null) return true;
    const there = this.#find.get(n);
    return (kept.data_at === null || kept.data_at === there?.["data_at"]) &&
      (kept.result_at === null || kept.result_at === there?.["result_at"]);
  }

  #findReason(
    [n = null, id, tenant]: readonly OperationValue[],
    expectedVersion: number,
  ): ConflictReason {
    const there = this.#find.get(n);
    const isKey = expectedVersion === 0
      ? there === undefined
      : there?.["id"] === id && there?.["tenant"] === tenant &&
        there?.["version"] === expectedVersion;
    return isKey ? "key" : "version";
  }

  #putDependents(
    cursor: OperationCursor,
    n: OperationValue,
    tenant: OperationValue,
  ): void {
    const count = cursor.number();
    if (this.#mayHaveDependents) this.#removeDependents.run(n);
    if (count > 0) this.#mayHaveDependents = true;
    for (let left = count; left > 0; left--) {
      this.#addDependent.run(tenant, cursor.text(), n);
    }
  }
}

/**
 * The task versions that wrote the payloads that stay; null for a payload that
 * is sent again.
 */
interface KeptPayloads {
  readonly data_at: OperationValue;
  readonly result_at: OperationValue;
}
