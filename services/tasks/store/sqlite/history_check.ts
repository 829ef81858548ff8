/**
 * Checks that the tasks in a database and their histories were not changed
 * after they were written.
 *
 * @module
 */

import { BLANK_TASK, type ChainEnd, type Task } from "../../domain/task.ts";
import { describeError } from "../../../shared/settled.ts";
import {
  beginReading,
  endReading,
  type HistoryReading,
  type HistoryRecord,
  isBoundBy,
  readOn,
} from "../../domain/history.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import { sha256 } from "../digest.ts";
import { MAX_FAULTS, openStored, versionFaultOf } from "./database_file.ts";
import { proofFaults } from "./proof_check.ts";
import { numberOf, Reader, type Row, textOf } from "./reader.ts";
import {
  CHANGING_COLUMNS,
  decodeBody,
  numberOfTask,
  PayloadCache,
  pushColumns,
  TaskDecoder,
} from "./task_row.ts";
import type { OperationValue } from "./thread_messages.ts";

/** How many rows are in memory at once. */
const PAGE = 500;

/** The progress of the check. */
export interface CheckedHistories {
  /** Tasks whose history was read to its end. */
  readonly tasks: number;
  /** Records that were read. */
  readonly records: number;
}

/** Options of {@linkcode historyCheck}. */
interface HistoryCheckOptions {
  /**
   * The keys of the proofs' MACs.
   *
   * @default none: MACs are not verified
   */
  readonly keys?: readonly ProofKey[];
  /**
   * Called from time to time with the progress.
   *
   * @default {() => {}}
   */
  readonly onProgress?: ((checked: CheckedHistories) => void) | undefined;
}

/** The outcome of a check. */
export interface HistoryCheckOutcome {
  /** The faults, a sentence each; empty when all is as it was written. */
  readonly faults: readonly string[];
  /**
   * The number of tasks whose last change was written by an earlier version,
   * which did not bind tasks to their history.
   */
  readonly unbound: number;
  /**
   * The number of audit log entries that an earlier version wrote without a
   * hash.
   */
  readonly unchained: number;
}

/**
 * Checks the tasks and audit logs in a data folder: follows the hash chain of
 * every task's history to the end that the task states, compares each task with
 * what its last record binds, and checks that no task and no audit entry is
 * missing. It sees one state of the database and holds only a few hundred rows
 * at a time. It blocks the thread, so a server does not call it; it may run in
 * another process beside a server, whose log grows meanwhile. It stops at the
 * twentieth fault.
 *
 * @throws {Error} when there is no database, or it cannot be opened
 */
export function historyCheck(
  dataFolder: string,
  { keys = [], onProgress = () => {} }: HistoryCheckOptions = {},
): HistoryCheckOutcome {
  const db = openStored(dataFolder);
  const tally = { unbound: 0, unchained: 0 };
  const failed = (reason: string): HistoryCheckOutcome => ({
    faults: [`Cannot check histories: ${reason}`],
    ...tally,
  });
  try {
    const fault = versionFaultOf(db);
    if (fault !== undefined) return failed(fault);
    const reader = new Reader(db);
    const faults = reader.snapshot(() =>
      faultsIn(reader, { keys, onProgress, tally }).take(MAX_FAULTS).toArray()
    );
    return { faults, ...tally };
  } catch (error) {
    return failed(describeError(error));
  } finally {
    db.close();
  }
}

/** Counts of tasks and entries that earlier versions wrote. */
interface Tally {
  unbound: number;
  unchained: number;
}

/**
 * Reads tasks and records side by side, since both are ordered by the task's
 * number.
 */
function* faultsIn(
  reader: Reader,
  { keys, onProgress, tally }: {
    readonly keys: readonly ProofKey[];
    readonly onProgress: (checked: CheckedHistories) => void;
    readonly tally: Tally;
  },
): Generator<string> {
  const tasks = tasksIn(reader);
  const ofTenants = new Map<number, number>();
  function* end(task: TaskCheck): Generator<string> {
    yield* task.end();
    ofTenants.set(task.tenant, (ofTenants.get(task.tenant) ?? 0) + 1);
    if (!task.isBound) tally.unbound++;
  }
  let task = next(tasks);
  let stray: number | undefined;
  const checked = { tasks: 0, records: 0 };
  for (const { n, rows } of piecesIn(reader)) {
    for (; task !== undefined && task.n < n; task = next(tasks)) {
      yield* end(task);
      checked.tasks++;
    }
    if (task?.n === n) task.read(rows);
    else if (n !== stray && !isRemoved(reader, n)) {
      stray = n;
      yield `Cannot trust history of number ${n}: it belongs to no task`;
    }
    checked.records += rows.length;
    onProgress({ ...checked });
  }
  for (; task !== undefined; task = next(tasks)) yield* end(task);
  yield* proofFaults(reader, {
    tasks: ofTenants,
    keys,
    onUnchained: () => void tally.unchained++,
  });
}

/** Checks a single task and its history. */
class TaskCheck {
  /** The task's number. */
  readonly n: number;
  /** The number of its tenant. */
  readonly tenant: number;
  /** Whether the last record binds the task; known after {@linkcode end}. */
  isBound = true;
  readonly #row: Row;
  readonly #decoder: TaskDecoder;
  #expected: ChainEnd = { count: 0, hash: "" };
  #reading: HistoryReading = beginReading();
  #lastText: string | undefined;
  #fault: string | undefined;

  /** Begins after the records that the task says were folded away. */
  constructor(row: Row, decoder: TaskDecoder) {
    this.n = numberOf(row, "n");
    this.tenant = numberOf(row, "tenant");
    this.#row = row;
    this.#decoder = decoder;
    try {
      const body = decodeBody(textOf(row, "body"), BLANK_TASK);
      const { historyCount: count, historyHash: hash, historyFolded } = body;
      this.#expected = { count, hash };
      this.#reading = beginReading(historyFolded);
    } catch {
      this.#fault = `Cannot read task "${this.#id}": its body is not JSON ` +
        "text";
    }
  }

  get #id(): string {
    return textOf(this.#row, "id");
  }

  /** Checks the next records; after a fault no more are checked. */
  read(rows: readonly Row[]): void {
    if (this.#fault !== undefined) return;
    const { end: { hash } } = this.#reading;
    const records = recordsOf(rows, hash);
    this.#lastText = records.at(-1)?.text;
    try {
      const read = readOn(this.#reading, { records, digest: sha256 });
      if (read.kind === "ok") this.#reading = read.reading;
      else this.#fault = this.#told(` at record ${read.seq}`, read.reason);
    } catch {
      // A record whose hash is right can only be unreadable if it is not JSON.
      this.#fault = this.#told("", "a record is not JSON text");
    }
  }

  /** Yields the faults, once all records were read. */
  *end(): Generator<string> {
    if (this.#fault !== undefined) return yield this.#fault;
    const { start, end } = this.#reading;
    const verdict = endReading(this.#reading, this.#expected);
    if (verdict.kind !== "ok") {
      return yield start === end
        ? this.#told("", "it has no records")
        : this.#told(` at record ${verdict.seq}`, verdict.reason);
    }
    const fault = this.#taskFault();
    if (fault !== undefined) yield `Cannot trust task "${this.#id}": ${fault}`;
  }

  /** Checks the row against its body and the last record. */
  #taskFault(): string | undefined {
    const row = this.#row;
    if (row["tenant_id"] === null) return "its tenant has no name";
    let task: Task;
    try {
      task = this.#decoder.decode(row, textOf(row, "tenant_id"));
      const column = strayColumn(row, task);
      if (column !== undefined) {
        return `its column "${column}" is not what its body says`;
      }
    } catch (error) {
      return describeError(error);
    }
    const binding: unknown = this.#lastText === undefined
      ? undefined
      : JSON.parse(this.#lastText)?.task;
    this.isBound = typeof binding === "string";
    return typeof binding !== "string" ||
        isBoundBy(task, { binding, digest: sha256 })
      ? undefined
      : "its tenant, worker, job, callback, status, data or result is not " +
        "what its last record tells";
  }

  #told(place: string, reason: string): string {
    return `Cannot trust history of task "${this.#id}"${place}: ${reason}`;
  }
}

/** The columns for lists and claims, whose values follow from the body. */
const TOLD_COLUMNS = CHANGING_COLUMNS.filter((column) =>
  !["version", "body", "data", "data_at", "result", "result_at"]
    .includes(column)
);

/** The first column that differs from what the task would be written with. */
function strayColumn(row: Row, task: Task): string | undefined {
  const nothing = { inline: null, version: null };
  const queueId = numberOf(row, "lane");
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

function* tasksIn(reader: Reader): Generator<TaskCheck> {
  // No payload cache is needed, since each payload is read only once.
  const decoder = new TaskDecoder(reader, new PayloadCache(0));
  const rows = reader.paged(TASK_ROWS, { key: ["n"], pageSize: PAGE });
  for (const row of rows) yield new TaskCheck(row, decoder);
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
    const of = numberOf(row, "n");
    if (n !== undefined && (of !== n || rows.length === PAGE)) {
      yield { n, rows };
      rows = [];
    }
    n = of;
    rows.push(row);
  }
  if (n !== undefined) yield { n, rows };
}

/** Builds records from rows; each takes its `prev` from the row before. */
function recordsOf(
  rows: readonly Row[],
  before: string,
): readonly HistoryRecord[] {
  let prev = before;
  return rows.map((row) => {
    const hash = textOf(row, "hash");
    const [seq, text] = [numberOf(row, "seq"), textOf(row, "text")];
    const record = { seq, text, prev, hash };
    prev = hash;
    return record;
  });
}

/**
 * Tells whether records belong to a removed task whose history is still to be
 * swept.
 */
function isRemoved(reader: Reader, n: number): boolean {
  return reader.number("SELECT 1 FROM removed_histories WHERE n = ?", n) === 1;
}

function next(tasks: Iterator<TaskCheck>): TaskCheck | undefined {
  const { done, value } = tasks.next();
  return done === true ? undefined : value;
}
