/**
 * Checks a task and its history as they are stored, whatever stores them, and
 * words the faults that a check finds.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import {
  beginReading,
  endReading,
  type HistoryReading,
  type HistoryRecord,
  readOn,
} from "../domain/history.ts";
import { BLANK_TASK, type ChainEnd } from "../domain/task.ts";
import { sha256 } from "./digest.ts";
import { decodeBody, decodeStatus } from "./task_body.ts";

/** The most faults that are returned. */
export const MAX_FAULTS = 20;

/** The progress of a check. */
export interface CheckedHistories {
  /** Tasks whose history was read to its end. */
  readonly tasks: number;
  /** Records that were read. */
  readonly records: number;
}

/** A record as it is stored: the hash before it is in the row before. */
export type HistoryRow = Pick<HistoryRecord, "seq" | "text" | "hash">;

/** A task as it is stored. */
interface StoredTask {
  /** Its id. */
  readonly id: string;
  /** The JSON text of its body. */
  readonly body: string;
  /**
   * Checks what is stored of the task beside its body and its history; returns
   * what is wrong.
   *
   * @throws {Error} when the task cannot be read
   */
  readonly findFault: () => string | undefined;
}

/** Checks a single task and its history. */
export class TaskCheck {
  readonly #task: StoredTask;
  #expected: ChainEnd = { count: 0, hash: "" };
  #reading: HistoryReading = beginReading();
  #fault: string | undefined;

  /** Begins after the records that the task says were folded away. */
  constructor(task: StoredTask) {
    this.#task = task;
    try {
      const body = decodeBody(task.body, BLANK_TASK);
      const { historyCount: count, historyHash: hash, historyFolded } = body;
      this.#expected = { count, hash };
      this.#reading = beginReading(historyFolded);
    } catch {
      this.#fault = `Cannot read task "${task.id}": its body is not JSON text`;
    }
  }

  /** Checks the next records; after a fault no more are checked. */
  read(rows: readonly HistoryRow[]): void {
    if (this.#fault !== undefined) return;
    const { end: { hash } } = this.#reading;
    const records = withPrevious(rows, hash);
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
    if (fault !== undefined) {
      yield `Cannot trust task "${this.#task.id}": ${fault}`;
    }
  }

  #taskFault(): string | undefined {
    try {
      return this.#task.findFault();
    } catch (error) {
      return describeError(error);
    }
  }

  #told(place: string, reason: string): string {
    return `Cannot trust history of task "${this.#task.id}"${place}: ${reason}`;
  }
}

/** What is wrong with a task whose column differs from its body. */
export function columnFault(column: string): string {
  return `its column "${column}" is not what its body says`;
}

/** The fault of a count that differs from the number of tasks. */
export function countFault(
  { tenantId, workerId, status, kept, there }: {
    readonly tenantId: string;
    readonly workerId: string;
    /** The number of the status. */
    readonly status: number;
    /** The count. */
    readonly kept: number;
    /** How many tasks there are. */
    readonly there: number;
  },
): string {
  return `Cannot trust the number of ${decodeStatus(status)} tasks of worker ` +
    `${quote(workerId)} of tenant ${quote(tenantId)}: there are ${there}, ` +
    `${kept} were counted`;
}

/** The fault of rows that refer to missing rows. */
export function referenceFault(
  { table, lost, to }: {
    /** The table of the rows. */
    readonly table: string;
    /** How many there are. */
    readonly lost: number;
    /** The table that lacks rows. */
    readonly to: string;
  },
): string {
  return `Cannot trust the table "${table}": ${lost} of its rows refer to ` +
    `missing rows of "${to}"`;
}

/** Builds records; each takes its `prev` from the one before. */
function withPrevious(
  rows: readonly HistoryRow[],
  before: string,
): readonly HistoryRecord[] {
  let prev = before;
  return rows.map(({ seq, text, hash }) => {
    const record = { seq, text, prev, hash };
    prev = hash;
    return record;
  });
}
