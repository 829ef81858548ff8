/**
 * Checks that the tasks in a database and their histories were not changed
 * after they were written.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import { describeError } from "../../../shared/settled.ts";
import {
  type CheckedHistories,
  columnFault,
  countFault,
  type HistoryRow,
  MAX_FAULTS,
  referenceFault,
  TaskCheck,
} from "../task_check.ts";
import { findVersionFault, openStored } from "./database_file.ts";
import { Reader, readNumber, readText, type Row } from "./reader.ts";
import {
  CHANGING_COLUMNS,
  numberOfTask,
  PayloadCache,
  pushColumns,
  TaskDecoder,
} from "./task_row.ts";
import type { OperationValue } from "./thread_messages.ts";

/** How many rows are in memory at once. */
const PAGE = 500;

/** Options of {@linkcode historyCheck}. */
interface HistoryCheckOptions {
  /**
   * Called from time to time with the progress.
   *
   * @default {() => {}}
   */
  readonly onProgress?: ((checked: CheckedHistories) => void) | undefined;
}

/**
 * Checks the tasks in a data folder: follows the hash chain of every task's
 * history to the end that the task states, compares the columns of each task
 * with its body, checks the stored counts, and finds rows that refer to missing
 * rows. It sees one state of the database and holds only a few hundred rows at
 * a time. It blocks the thread, so a server does not call it; it may run in
 * another process beside a server, whose log grows meanwhile.
 *
 * @returns the faults, a sentence each, twenty at most; empty when all is as it
 * was written
 * @throws {Error} when there is no database, or it cannot be opened
 */
export function historyCheck(
  dataFolder: string,
  { onProgress = () => {} }: HistoryCheckOptions = {},
): readonly string[] {
  const db = openStored(dataFolder);
  const failed = (reason: string) => [`Cannot check histories: ${reason}`];
  try {
    const fault = findVersionFault(db);
    if (fault !== undefined) return failed(fault);
    const reader = new Reader(db);
    return reader.snapshot(() =>
      faultsIn(reader, onProgress).take(MAX_FAULTS).toArray()
    );
  } catch (error) {
    return failed(describeError(error));
  } finally {
    db.close();
  }
}

/**
 * Reads tasks and records side by side, since both are ordered by the task's
 * number.
 */
function* faultsIn(
  reader: Reader,
  onProgress: (checked: CheckedHistories) => void,
): Generator<string> {
  const tasks = tasksIn(reader);
  let task = next(tasks);
  let stray: number | undefined;
  const checked = { tasks: 0, records: 0 };
  for (const { n, rows } of piecesIn(reader)) {
    for (; task !== undefined && task.n < n; task = next(tasks)) {
      yield* task.check.end();
      checked.tasks++;
    }
    if (task?.n === n) task.check.read(rows.map(toHistoryRow));
    else if (n !== stray && !isRemoved(reader, n)) {
      stray = n;
      yield `Cannot trust history of number ${n}: it belongs to no task`;
    }
    checked.records += rows.length;
    onProgress({ ...checked });
  }
  for (; task !== undefined; task = next(tasks)) {
    yield* task.check.end();
  }
  yield* countFaults(reader);
  yield* tagFaults(reader);
  yield* referenceFaults(reader);
}

/** Compares the rows by which lists find tags with the tasks. */
function* tagFaults(reader: Reader): Generator<string> {
  const missing = reader.number(
    "SELECT count(*) FROM tasks, json_each(tasks.tags) AS of " +
      "WHERE tasks.tags IS NOT NULL AND NOT EXISTS(SELECT 1 FROM task_tags " +
      "AS own WHERE own.tenant = tasks.tenant AND own.tag = of.value AND " +
      "own.date_ms = tasks.date_ms AND own.n = tasks.n AND " +
      "own.created_ms = tasks.created_ms)",
  ) ?? 0;
  const there = reader.number("SELECT count(*) FROM task_tags") ?? 0;
  const wanted = reader.number(
    "SELECT sum(json_array_length(tags)) FROM tasks WHERE tags IS NOT NULL",
  ) ?? 0;
  const extra = there - (wanted - missing);
  if (missing === 0 && extra === 0) return;
  yield `Cannot trust lists by tags: ${missing} rows are missing, ${extra} ` +
    "are of no task";
}

/** Compares the stored counts of each worker with the tasks that are there. */
function* countFaults(reader: Reader): Generator<string> {
  const rows = reader.rows(
    "SELECT tenants.id AS tenant, lanes.worker AS worker, status, " +
      "sum(kept) AS kept, sum(there) AS there FROM (" +
      "SELECT tenant, lane, status, count AS kept, 0 AS there " +
      "FROM task_counts UNION ALL " +
      "SELECT tenant, lane, status, 0, count(*) FROM tasks GROUP BY 1, 2, 3" +
      ") AS counts LEFT JOIN tenants ON tenants.tenant = counts.tenant " +
      "LEFT JOIN lanes ON lanes.lane = counts.lane " +
      "GROUP BY counts.tenant, counts.lane, status " +
      "HAVING sum(kept) <> sum(there) LIMIT ?",
    MAX_FAULTS,
  );
  for (const row of rows) {
    yield countFault({
      tenantId: String(row["tenant"]),
      workerId: String(row["worker"]),
      status: readNumber(row, "status"),
      kept: readNumber(row, "kept"),
      there: readNumber(row, "there"),
    });
  }
}

/** Tables with a column that refers to a row of another table. */
const REFERENCES = [
  { table: "lanes", column: "tenant", to: "tenants" },
  { table: "records", column: "tenant", to: "tenants" },
  { table: "audit", column: "tenant", to: "tenants" },
  { table: "dependents", column: "n", to: "tasks" },
  { table: "task_tags", column: "n", to: "tasks" },
  { table: "task_data", column: "n", to: "tasks" },
  { table: "task_results", column: "n", to: "tasks" },
] as const;

/** Finds rows that refer to missing rows. */
function* referenceFaults(reader: Reader): Generator<string> {
  for (const { table, column, to } of REFERENCES) {
    const lost = reader.number(
      `SELECT count(*) FROM ${table} ` +
        `WHERE ${column} NOT IN (SELECT ${column} FROM ${to})`,
    );
    if (lost !== undefined && lost !== 0) {
      yield referenceFault({ table, lost, to });
    }
  }
}

/** A task with its number. */
interface NumberedCheck {
  readonly n: number;
  readonly check: TaskCheck;
}

function checkOf(row: Row, decoder: TaskDecoder): NumberedCheck {
  const check = new TaskCheck({
    id: readText(row, "id"),
    body: readText(row, "body"),
    findFault: () => findRowFault(row, decoder),
  });
  return { n: readNumber(row, "n"), check };
}

/** Checks a row against its body. */
function findRowFault(row: Row, decoder: TaskDecoder): string | undefined {
  if (row["tenant_id"] === null) return "its tenant has no name";
  const task = decoder.decode(row, readText(row, "tenant_id"));
  const column = strayColumn(row, task);
  return column && columnFault(column);
}

/** The columns for lists and claims, whose values follow from the body. */
const TOLD_COLUMNS = CHANGING_COLUMNS.filter((column) =>
  !["version", "body", "data", "data_at", "result", "result_at"]
    .includes(column)
);

/** The first column that differs from what the task would be written with. */
function strayColumn(row: Row, task: Task): string | undefined {
  const nothing = { inline: null, version: null };
  const queueId = readNumber(row, "lane");
  const columns: OperationValue[] = [];
  pushColumns(columns, task, { queueId, data: nothing, result: nothing });
  if (numberOfTask(task.id) !== row["n"]) return "n";
  if (task.createdAtMs !== row["created_ms"]) return "created_ms";
  const isOfWorker = row["lane_worker"] === task.workerId &&
    row["lane_tenant"] === row["tenant"];
  return isOfWorker
    ? TOLD_COLUMNS.find((column) =>
      columns[CHANGING_COLUMNS.indexOf(column)] !== row[column]
    )
    : "lane";
}

const TASK_ROWS = "SELECT tasks.*, tenants.id AS tenant_id, " +
  "lanes.worker AS lane_worker, lanes.tenant AS lane_tenant FROM tasks " +
  "LEFT JOIN tenants ON tenants.tenant = tasks.tenant " +
  "LEFT JOIN lanes ON lanes.lane = tasks.lane WHERE n > ? ORDER BY n LIMIT ?";

function* tasksIn(reader: Reader): Generator<NumberedCheck> {
  // No payload cache is needed, since each payload is read only once.
  const decoder = new TaskDecoder(reader, new PayloadCache(0));
  const rows = reader.paged(TASK_ROWS, { key: ["n"], pageSize: PAGE });
  for (const row of rows) yield checkOf(row, decoder);
}

/**
 * Reads all records in pieces; the records of a task are in one piece or in
 * several that follow each other.
 */
function* piecesIn(
  reader: Reader,
): Generator<{ readonly n: number; readonly rows: readonly Row[] }> {
  let rows: Row[] = [];
  let n: number | undefined;
  const all = reader.paged(
    "SELECT n, seq, text, hash FROM history WHERE (n, seq) > (?, ?) " +
      "ORDER BY n, seq LIMIT ?",
    { key: ["n", "seq"], pageSize: PAGE },
  );
  for (const row of all) {
    const of = readNumber(row, "n");
    if (n !== undefined && (of !== n || rows.length === PAGE)) {
      yield { n, rows };
      rows = [];
    }
    n = of;
    rows.push(row);
  }
  if (n !== undefined) yield { n, rows };
}

function toHistoryRow(row: Row): HistoryRow {
  return {
    seq: readNumber(row, "seq"),
    text: readText(row, "text"),
    hash: readText(row, "hash"),
  };
}

/**
 * Tells whether records belong to a removed task whose history is still to be
 * swept.
 */
function isRemoved(reader: Reader, n: number): boolean {
  return reader.number("SELECT 1 FROM removed_histories WHERE n = ?", n) === 1;
}

function next(
  tasks: Iterator<NumberedCheck>,
): NumberedCheck | undefined {
  const { done, value } = tasks.next();
  return done === true ? undefined : value;
}
