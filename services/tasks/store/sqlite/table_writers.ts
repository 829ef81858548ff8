/**
 * Writes of everything but tasks: records, idempotency entries and sums; and the
 * removal of histories and of what has expired.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ExpiredRows } from "../../../shared/sqlite/expired_rows.ts";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";
import type {
  ConflictReason,
  OperationCursor,
  OperationValue,
} from "./thread_messages.ts";

/** Writes records. */
export class RecordWriter {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #remove: StatementSync;
  /**
   * Records that were found in this group. Many tasks that are created together
   * require the same worker.
   */
  readonly #found = new Set<string>();

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#find = db.prepare(
      "SELECT version FROM records WHERE tenant = ? AND kind = ? AND id = ?",
    );
    this.#insert = db.prepare(
      "INSERT OR IGNORE INTO records" +
        "(version, alias, parent, text, tenant, kind, id) " +
        "VALUES(?, ?, ?, ?, ?, ?, ?)",
    );
    this.#update = db.prepare(
      "UPDATE OR IGNORE records SET version = ?, alias = ?, parent = ?, " +
        "text = ? WHERE tenant = ? AND kind = ? AND id = ? AND version = ?",
    );
    this.#remove = db.prepare(
      "DELETE FROM records " +
        "WHERE tenant = ? AND kind = ? AND id = ? AND version = ?",
    );
  }

  /** Forgets what was found: a group begins or something was undone. */
  beginGroup(): void {
    this.#found.clear();
  }

  /** Inserts or updates a record. */
  put(cursor: OperationCursor): ConflictReason | undefined {
    const identity = cursor.take(3);
    const expectedVersion = cursor.number();
    const content = cursor.take(4);
    this.#found.clear();
    const { changes } = expectedVersion === 0
      ? this.#insert.run(...content, ...identity)
      : this.#update.run(...content, ...identity, expectedVersion);
    if (changes !== 0) return undefined;
    return this.#version(identity) === expectedVersion ? "alias" : "version";
  }

  /** Removes a record, or requires that there is none. */
  remove(cursor: OperationCursor): ConflictReason | undefined {
    this.#found.clear();
    const identity = cursor.take(3);
    const expectedVersion = cursor.number();
    if (expectedVersion === 0) {
      return this.#version(identity) === 0 ? undefined : "version";
    }
    const { changes } = this.#remove.run(...identity, expectedVersion);
    return changes === 0 ? "version" : undefined;
  }

  /** Requires that a record is there. */
  require(cursor: OperationCursor): ConflictReason | undefined {
    const identity = cursor.take(3);
    const key = identity.join("\n");
    if (this.#found.has(key)) return undefined;
    if (this.#version(identity) === 0) return "missing";
    this.#found.add(key);
    return undefined;
  }

  /** The version of a record; 0 when there is none. */
  #version(identity: readonly OperationValue[]): number {
    return Number(this.#find.get(...identity)?.["version"] ?? 0);
  }
}

/** Writes answers to requests with idempotency keys. */
export class AnswerWriter {
  readonly #put: StatementSync;
  readonly #removeExpired: StatementSync;

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#removeExpired = db.prepare(
      "DELETE FROM idempotency " +
        "WHERE tenant = ? AND key = ? AND expires_ms <= ?",
    );
    this.#put = db.prepare(
      "INSERT OR IGNORE INTO idempotency VALUES(?, ?, ?, ?, ?, ?, ?)",
    );
  }

  /** Keeps an answer. */
  put(cursor: OperationCursor): ConflictReason | undefined {
    const nowMs = cursor.number();
    const values = cursor.take(7);
    const [tenant = null, key = null] = values;
    this.#removeExpired.run(tenant, key, nowMs);
    const { changes } = this.#put.run(...values);
    return changes === 0 ? "idempotency" : undefined;
  }
}

/** How much is added to the number in a row. */
interface Sum {
  /** The columns that name the row. */
  readonly row: readonly OperationValue[];
  by: number;
}

/**
 * Adds to numbers in rows. What a group adds to a row is summed up and written once,
 * at its end: each start of a task counts one for the same row.
 */
export class GroupSums {
  readonly #add: StatementSync;
  readonly #group = new Map<string, Sum>();
  #transaction: Sum[] = [];

  /** Sums for a statement that takes the columns that name a row, then the sum. */
  constructor(add: StatementSync) {
    this.#add = add;
  }

  /** A group begins; what one that was rolled back had added is forgotten. */
  beginGroup(): void {
    this.#group.clear();
    this.#transaction = [];
  }

  /** Adds to the number of a row in the transaction under way. */
  add(row: readonly OperationValue[], by: number): void {
    this.#transaction.push({ row, by });
  }

  /** A transaction ends; what it added counts only when it was applied. */
  endTransaction(isApplied: boolean): void {
    if (this.#transaction.length === 0) return;
    for (const sum of isApplied ? this.#transaction : []) {
      const key = sum.row.join(" ");
      const known = this.#group.get(key);
      if (known === undefined) this.#group.set(key, sum);
      else known.by += sum.by;
    }
    this.#transaction = [];
  }

  /** The group is about to be committed; returns the sums that were written. */
  endGroup(): readonly Readonly<Sum>[] {
    const sums = [...this.#group.values()].filter(({ by }) => by !== 0);
    for (const { row, by } of sums) this.#add.run(...row, by);
    return sums;
  }
}

/**
 * Most records of a history that are removed together with their task; of a
 * longer one the rest is left to sweeping.
 */
const MAX_REMOVED_RECORDS = 1_000;

/** Removes records. What waits to be written must have been written before. */
export class HistoryRemover {
  readonly #lastSeq: StatementSync;
  readonly #removeEnd: StatementSync;
  readonly #removeBeginning: StatementSync;
  readonly #leaveToSweeping: StatementSync;
  readonly #holdNumber: StatementSync;
  readonly #nextLeft: StatementSync;
  readonly #forget: StatementSync;

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#lastSeq = db.prepare(
      "SELECT max(seq) AS seq FROM history WHERE n = ?",
    );
    this.#removeEnd = db.prepare("DELETE FROM history WHERE n = ? AND seq > ?");
    this.#removeBeginning = db.prepare(
      "DELETE FROM history WHERE n = ? AND seq <= ?",
    );
    this.#leaveToSweeping = db.prepare(
      "INSERT OR IGNORE INTO removed_histories VALUES(?)",
    );
    this.#holdNumber = db.prepare(
      "INSERT OR IGNORE INTO history VALUES(?, 1, '', '')",
    );
    this.#nextLeft = db.prepare("SELECT n FROM removed_histories LIMIT 1");
    this.#forget = db.prepare("DELETE FROM removed_histories WHERE n = ?");
  }

  /** Removes the records up to `through`, that one among them. */
  fold(n: OperationValue, through: OperationValue): void {
    this.#removeBeginning.run(n, through);
  }

  /** Removes the history of a removed task; the rest of a long one is swept later. */
  remove(n: OperationValue): void {
    // From its end: while the beginning is there, no other task of that number
    // can begin a history.
    const last = this.#lastOf(n) ?? 0;
    const left = Math.max(0, last - MAX_REMOVED_RECORDS);
    this.#removeEnd.run(n, left);
    if (left === 0 || this.#lastOf(n) === undefined) return;
    this.#leaveToSweeping.run(n);
    // One that was folded has no beginning.
    this.#holdNumber.run(n);
  }

  /** Removes at most `limit` records that were left, and returns how many. */
  sweep(limit: number): number {
    let left = limit;
    while (left > 0) {
      const n = this.#nextLeft.get()?.["n"];
      if (typeof n !== "number") break;
      const from = Math.max(0, (this.#lastOf(n) ?? 0) - left);
      left -= Number(this.#removeEnd.run(n, from).changes);
      if (from === 0) this.#forget.run(n);
    }
    return limit - left;
  }

  #lastOf(n: OperationValue): number | undefined {
    const seq = this.#lastSeq.get(n)?.["seq"];
    return typeof seq === "number" ? seq : undefined;
  }
}

/** Sweeps a database. */
export class Sweeper {
  readonly #db: DatabaseSync;
  readonly #answers: ExpiredRows;
  readonly #histories: HistoryRemover;

  /** A sweeper for a connection that writes. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#histories = new HistoryRemover(db);
    this.#answers = new ExpiredRows(db, {
      from: "idempotency INDEXED BY idempotency_by_expiry",
      key: ["tenant", "key"],
      where: "expires_ms <= ?",
    });
  }

  /** Removes at most `limit` rows and returns how many. */
  sweep(nowMs: number, limit: number): number {
    return inTransaction(this.#db, () => {
      const answers = this.#answers.remove(nowMs, limit);
      return answers + this.#histories.sweep(limit - answers);
    });
  }
}
