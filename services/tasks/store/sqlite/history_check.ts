/**
 * Whether the histories in a database are what was written.
 *
 * @module
 */

import { describeError } from "../../../shared/settled.ts";
import type { ChainEnd } from "../../domain/chain_end.ts";
import type { Digest, HistoryRecord } from "../../domain/history.ts";
import {
  beginReading,
  endReading,
  type HistoryReading,
  readOn,
} from "../../domain/history_fold.ts";
import { MAX_FAULTS, versionFaultOf } from "./integrity.ts";
import { openStored } from "./open_stored.ts";
import { numberOf, Reader, type Row, textOf } from "./reader.ts";
import { decodeBody } from "./task_body.ts";

/** Rows that are held at once. */
const PAGE = 500;

/** How much has been checked. */
export interface CheckedHistories {
  /** Tasks whose history was read to its end. */
  readonly tasks: number;
  /** Records that were read. */
  readonly records: number;
}

/** Options of {@linkcode historyCheck}. */
export interface HistoryCheckOptions {
  /** The hash of the histories. */
  readonly digest: Digest;
  /**
   * Most faults that are told; the check ends with the last of them.
   * @default {20}
   */
  readonly maxFaults?: number;
  /**
   * Hears again and again how far it has come.
   * @default nobody
   */
  readonly onProgress?: (checked: CheckedHistories) => void;
}

/**
 * Follows the chain of every task's history in a data folder to the end that the
 * task knows, and returns what is wrong, one sentence for each history; nothing
 * when all of them are whole. It sees one state of the database and holds a few
 * hundred rows of it, however many there are. It keeps the thread, so a server
 * does not call it; it may run beside one, whose log grows meanwhile.
 *
 * @throws {Error} when there is no database, or it cannot be opened
 */
export function historyCheck(
  dataFolder: string,
  options: HistoryCheckOptions,
): readonly string[] {
  const db = openStored(dataFolder);
  try {
    const fault = versionFaultOf(db);
    if (fault !== undefined) return [`Cannot check histories: ${fault}`];
    const reader = new Reader(db);
    const { maxFaults = MAX_FAULTS } = options;
    return reader.snapshot(() =>
      faultsIn(reader, options).take(maxFaults).toArray()
    );
  } catch (error) {
    return [`Cannot check histories: ${describeError(error)}`];
  } finally {
    db.close();
  }
}

/** Walks over tasks and records side by side: both are ordered by number. */
function* faultsIn(
  reader: Reader,
  { digest, onProgress }: HistoryCheckOptions,
): Generator<string> {
  const tasks = tasksIn(reader, digest);
  let task = next(tasks);
  let stray: number | undefined;
  const checked = { tasks: 0, records: 0 };
  for (const { n, rows } of piecesIn(reader)) {
    for (; task !== undefined && task.n < n; task = next(tasks)) {
      yield* task.end();
      checked.tasks++;
    }
    if (task?.n === n) task.read(rows);
    else if (n !== stray && !isRemoved(reader, n)) {
      stray = n;
      yield `Cannot trust history of number ${n}: it belongs to no task`;
    }
    checked.records += rows.length;
    onProgress?.({ ...checked });
  }
  for (; task !== undefined; task = next(tasks)) yield* task.end();
}

/** The check of one task's history. */
class TaskCheck {
  /** The task's number. */
  readonly n: number;
  readonly #id: string;
  readonly #digest: Digest;
  #expected: ChainEnd = { count: 0, hash: "" };
  #reading: HistoryReading = beginReading();
  #fault: string | undefined;

  /** Begins where the task says. */
  constructor(row: Row, digest: Digest) {
    this.n = numberOf(row, "n");
    this.#id = textOf(row, "id");
    this.#digest = digest;
    try {
      const body = decodeBody(textOf(row, "body"));
      const { historyCount: count, historyHash: hash, historyFolded } = body;
      this.#expected = { count, hash };
      this.#reading = beginReading(historyFolded);
    } catch {
      this.#fault = `Cannot read task "${this.#id}": its body is no JSON text`;
    }
  }

  /** Checks the next records; behind a fault there is nothing to check. */
  read(rows: readonly Row[]): void {
    if (this.#fault !== undefined) return;
    const { end: { hash } } = this.#reading;
    const records = recordsOf(rows, hash);
    try {
      const read = readOn(this.#reading, { records, digest: this.#digest });
      if (read.kind === "ok") this.#reading = read.reading;
      else this.#fault = this.#told(` at record ${read.seq}`, read.reason);
    } catch {
      // Only what is no JSON text, though its hash is right, cannot be read.
      this.#fault = this.#told("", "a record is no JSON text");
    }
  }

  /** What is wrong, when all its records were read. */
  *end(): Generator<string> {
    if (this.#fault !== undefined) return yield this.#fault;
    const { start, end } = this.#reading;
    const verdict = endReading(this.#reading, this.#expected);
    if (verdict.kind === "ok") return;
    yield start === end
      ? this.#told("", "it has no records")
      : this.#told(` at record ${verdict.seq}`, verdict.reason);
  }

  #told(place: string, reason: string): string {
    return `Cannot trust history of task "${this.#id}"${place}: ${reason}`;
  }
}

function* tasksIn(reader: Reader, digest: Digest): Generator<TaskCheck> {
  let after = Number.MIN_SAFE_INTEGER;
  for (let length = PAGE; length === PAGE;) {
    const rows = reader.rows(
      "SELECT n, id, body FROM tasks WHERE n > ? ORDER BY n LIMIT ?",
      after,
      PAGE,
    );
    for (const row of rows) {
      after = numberOf(row, "n");
      yield new TaskCheck(row, digest);
    }
    length = rows.length;
  }
}

/** All records, those of a task one after the other in one piece or in several. */
function* piecesIn(
  reader: Reader,
): Generator<{ readonly n: number; readonly rows: readonly Row[] }> {
  let [n, seq] = [Number.MIN_SAFE_INTEGER, 0];
  for (let length = PAGE; length === PAGE;) {
    const rows = reader.rows(
      "SELECT n, seq, text, hash FROM history WHERE (n, seq) > (?, ?) " +
        "ORDER BY n, seq LIMIT ?",
      n,
      seq,
      PAGE,
    );
    let begin = 0;
    for (const [index, row] of rows.entries()) {
      const of = numberOf(row, "n");
      if (of !== n && index > begin) {
        yield { n, rows: rows.slice(begin, index) };
        begin = index;
      }
      [n, seq] = [of, numberOf(row, "seq")];
    }
    if (rows.length > begin) yield { n, rows: rows.slice(begin) };
    length = rows.length;
  }
}

/** A record follows the one before it in the table. */
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

/** What is left of a long history whose task was removed waits to be swept. */
function isRemoved(reader: Reader, n: number): boolean {
  return reader.number("SELECT 1 FROM removed_histories WHERE n = ?", n) === 1;
}

function next(tasks: Iterator<TaskCheck>): TaskCheck | undefined {
  const { done, value } = tasks.next();
  return done === true ? undefined : value;
}
