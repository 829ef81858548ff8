/**
 * Writes everything but tasks: records, idempotency entries and sums. Also
 * removes histories and expired entries.
 *
 * @module
 */

import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { ExpiredRows } from "../../../shared/sqlite/expired_rows.ts";
import { EventSweeper } from "./event_log.ts";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";
import type { ConflictReason } from "../result_codes.ts";
import type { OperationCursor, OperationValue } from "./thread_messages.ts";

/** Writes records. */
export class RecordWriter {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #remove: StatementSync;
  /**
   * Records that were found in this group, since many tasks that are created
   * together require the same worker.
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

  /**
   * Forgets the records that were found, when a group begins or a change was
   * undone.
   */
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

  /** Removes a record, or requires that it does not exist. */
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

  /** Requires that a record exists. */
  require(cursor: OperationCursor): ConflictReason | undefined {
    const identity = cursor.take(3);
    const key = identity.join("\n");
    if (this.#found.has(key)) return undefined;
    if (this.#version(identity) === 0) return "missing";
    this.#found.add(key);
    return undefined;
  }

  /** The version of a record; 0 when it does not exist. */
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

  /** Stores an answer; conflicts when the key has one that has not expired. */
  put(cursor: OperationCursor): ConflictReason | undefined {
    const nowMs = cursor.number();
    const values = cursor.take(7);
    const [tenant = null, key = null] = values;
    this.#removeExpired.run(tenant, key, nowMs);
    const { changes } = this.#put.run(...values);
    return changes === 0 ? "idempotency" : undefined;
  }
}

/** A number that is added to the one in a row. */
interface Sum {
  /** The columns that identify the row. */
  readonly row: readonly OperationValue[];
  by: number;
}

/**
 * Adds to numbers in rows. What a group adds to a row is summed up and written
 * once, at the end of the group: each start of a task adds one to the same row.
 */
export class GroupSums {
  readonly #add: StatementSync;
  readonly #group = new Map<string, Sum>();
  #transaction: Sum[] = [];

  /**
   * Takes the statement, whose parameters are the columns that identify a row,
   * and then the sum.
   */
  constructor(add: StatementSync) {
    this.#add = add;
  }

  /** Begins a group, and forgets the sums of a group that was rolled back. */
  beginGroup(): void {
    this.#group.clear();
    this.#transaction = [];
  }

  /** Adds to the number of a row in the current transaction. */
  add(row: readonly OperationValue[], by: number): void {
    this.#transaction.push({ row, by });
  }

  /** Ends a transaction; its sums count only if it was applied. */
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

  /** The sums of the group so far, of its applied transactions. */
  get sums(): Iterable<Readonly<Sum>> {
    return this.#group.values();
  }

  /** Writes the sums before the group is committed. */
  endGroup(): void {
    for (const { row, by } of this.#group.values()) {
      if (by !== 0) this.#add.run(...row, by);
    }
  }
}

/**
 * The most records of a history that are removed together with their task; the
 * rest of a longer one is left to sweeping.
 */
const MAX_REMOVED_RECORDS = 1_000;

/**
 * Removes history records. Rows that wait to be written have to be written
 * before.
 */
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

  /** Removes the records up to `through`, inclusive. */
  fold(n: OperationValue, through: OperationValue): void {
    this.#removeBeginning.run(n, through);
  }

  /**
   * Removes the history of a removed task; the rest of a long history is swept
   * later.
   */
  remove(n: OperationValue): void {
    // The end is removed first: while the beginning exists, no other task of
    // that number can begin a history.
    const last = this.#readLastSeq(n) ?? 0;
    const left = Math.max(0, last - MAX_REMOVED_RECORDS);
    this.#removeEnd.run(n, left);
    if (left === 0 || this.#readLastSeq(n) === undefined) return;
    this.#leaveToSweeping.run(n);
    // A folded history has no beginning, so a placeholder holds the number.
    this.#holdNumber.run(n);
  }

  /**
   * Removes at most `limit` records that were left to sweeping, and returns how
   * many.
   */
  sweep(limit: number): number {
    let left = limit;
    while (left > 0) {
      const n = this.#nextLeft.get()?.["n"];
      if (typeof n !== "number") break;
      const from = Math.max(0, (this.#readLastSeq(n) ?? 0) - left);
      left -= Number(this.#removeEnd.run(n, from).changes);
      if (from === 0) this.#forget.run(n);
    }
    return limit - left;
  }

  #readLastSeq(n: OperationValue): number | undefined {
    const seq = this.#lastSeq.get(n)?.["seq"];
    return typeof seq === "number" ? seq : undefined;
  }
}

/**
 * Removes the oldest entries of a tenant's audit log that are from before an
 * instant, and returns how many. The last entry stays.
 */
export function trimAudit(
  db: DatabaseSync,
  { tenant, beforeMs, limit }: {
    readonly tenant: number;
    readonly beforeMs: number;
    readonly limit: number;
  },
): number {
  return inTransaction(db, () => {
    const rows = db.prepare(
      "SELECT number, at_ms FROM audit WHERE tenant = ? " +
        "ORDER BY number LIMIT ?",
    ).all(tenant, limit + 1);
    const young = rows.findIndex((row) => Number(row["at_ms"]) >= beforeMs);
    const last = rows[(young < 0 ? rows.length - 1 : young) - 1];
    if (last === undefined) return 0;
    const { changes } = db.prepare(
      "DELETE FROM audit WHERE tenant = ? AND number <= ?",
    ).run(tenant, last["number"] ?? 0);
    return Number(changes);
  });
}

/**
 * Removes expired idempotency entries, starts, activity and events, counts of jobs
 * without tasks, and histories that were left to sweeping.
 */
export class Sweeper {
  readonly #db: DatabaseSync;
  readonly #answers: ExpiredRows;
  readonly #removeStarts: StatementSync;
  readonly #findActivity: StatementSync;
  readonly #removeActivity: StatementSync;
  readonly #findEmpty: StatementSync;
  readonly #removeEmpty: StatementSync;
  readonly #histories: HistoryRemover;
  readonly #events: EventSweeper;

  /** Takes the connection that writes. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#histories = new HistoryRemover(db);
    this.#events = new EventSweeper(db);
    this.#answers = new ExpiredRows(db, {
      from: "idempotency INDEXED BY idempotency_by_expiry",
      key: ["tenant", "key"],
      where: "expires_ms <= ?",
    });
    this.#removeStarts = db.prepare(
      "DELETE FROM starts WHERE number IN (SELECT number FROM starts " +
        "INDEXED BY starts_by_expiry WHERE expires_ms <= ? LIMIT ?)",
    );
    const activity = ["tenant", "worker", "job", "step_ms", "at_ms"];
    this.#findActivity = db.prepare(
      `SELECT ${activity} FROM activity INDEXED BY activity_by_expiry ` +
        "WHERE expires_ms <= ? LIMIT ?",
    );
    const where = (key: readonly string[]): string =>
      key.map((column) => `${column} = ?`).join(" AND ");
    this.#removeActivity = db.prepare(
      `DELETE FROM activity WHERE ${where(activity)}`,
    );
    const empty = ["tenant", "lane", "status", "job"];
    this.#findEmpty = db.prepare(
      `SELECT ${empty} FROM job_counts INDEXED BY job_counts_empty ` +
        "WHERE count = 0 LIMIT ?",
    );
    this.#removeEmpty = db.prepare(
      `DELETE FROM job_counts WHERE ${where(empty)}`,
    );
  }

  /** Removes at most `limit` rows and returns how many. */
  sweep(nowMs: number, limit: number): number {
    return inTransaction(this.#db, () => {
      const answers = this.#answers.remove(nowMs, limit);
      const { changes } = this.#removeStarts.run(nowMs, limit - answers);
      let removed = answers + Number(changes);
      removed += removeEach(
        this.#findActivity.all(nowMs, limit - removed),
        this.#removeActivity,
      );
      removed += removeEach(
        this.#findEmpty.all(limit - removed),
        this.#removeEmpty,
      );
      removed += this.#histories.sweep(limit - removed);
      return removed + this.#events.sweep(nowMs, limit - removed);
    });
  }
}

/** Removes rows by their keys, one by one, as {@linkcode ExpiredRows} does. */
function removeEach(
  keys: readonly Readonly<Record<string, SQLOutputValue>>[],
  remove: StatementSync,
): number {
  for (const key of keys) remove.run(...Object.values(key));
  return keys.length;
}
