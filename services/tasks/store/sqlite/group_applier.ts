/**
 * Applies groups of transactions, each group in one commit of SQLite.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  isConstraintError,
  isTriggerError,
} from "../../../shared/sqlite/sqlite_error.ts";
import { rollBack } from "../../../shared/sqlite/transaction.ts";
import { APPLIED, conflictCode, type ConflictReason } from "../result_codes.ts";
import { ACTIVITY_COLUMNS, MAX_COLUMN } from "../kept_counts.ts";
import { AnswerWriter, GroupSums, RecordWriter } from "./table_writers.ts";
import { TaskCounts } from "./task_counts.ts";
import { BatchMismatch, TaskWriter } from "./task_writer.ts";
import {
  decodeValues,
  OPERATION,
  OperationCursor,
  type OperationList,
  type OperationValue,
  TRANSACTION_FORM,
} from "./thread_messages.ts";

const ADD_ACTIVITY = "INSERT INTO activity VALUES(?, ?, ?, ?, ?, ?, " +
  `${ACTIVITY_COLUMNS.map(() => "?").join()}) ON CONFLICT DO UPDATE SET ` +
  ["expires_ms", ...ACTIVITY_COLUMNS.map(([, column]) => column)].map((name) =>
    name === "expires_ms" || name === MAX_COLUMN
      ? `${name} = max(${name}, excluded.${name})`
      : `${name} = ${name} + excluded.${name}`
  ).join();

/** Applies groups of transactions to a database. */
export class GroupApplier {
  readonly #db: DatabaseSync;
  readonly #counts: TaskCounts;
  readonly #tasks: TaskWriter;
  readonly #records: RecordWriter;
  readonly #answers: AnswerWriter;
  readonly #usage: GroupSums;
  readonly #starts: GroupSums;
  readonly #addActivity: StatementSync;
  readonly #addAudit: StatementSync;
  readonly #listen: StatementSync;
  readonly #endListening: StatementSync;
  readonly #addEvent: StatementSync;
  readonly #nameTenant: StatementSync;
  readonly #nameQueue: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #savepoint: StatementSync;
  readonly #undo: StatementSync;
  readonly #release: StatementSync;
  #commitMs = 0;

  /** Takes the connection that writes. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#counts = new TaskCounts(db);
    this.#tasks = new TaskWriter(db, this.#counts);
    this.#records = new RecordWriter(db);
    this.#answers = new AnswerWriter(db);
    this.#usage = new GroupSums(db.prepare(
      "INSERT INTO usage VALUES(?, ?, ?) ON CONFLICT(tenant, period) " +
        "DO UPDATE SET executions = executions + excluded.executions",
    ));
    // Always a new row, whose number tells readers that it is new.
    this.#starts = new GroupSums(db.prepare(
      "INSERT INTO starts(tenant, worker, task_group, at_ms, expires_ms, " +
        "count) VALUES(?, ?, ?, ?, ?, ?)",
    ));
    this.#addActivity = db.prepare(ADD_ACTIVITY);
    this.#addAudit = db.prepare(
      "INSERT OR IGNORE INTO audit VALUES(?1, coalesce(?2, " +
        "(SELECT coalesce(max(number), 0) + 1 FROM audit " +
        "WHERE tenant = ?1)), ?3, ?4, ?5)",
    );
    this.#listen = db.prepare(
      "INSERT INTO listeners VALUES(?, ?, lower(hex(randomblob(8))), 0) " +
        "ON CONFLICT(tenant) DO UPDATE " +
        "SET until_ms = max(until_ms, excluded.until_ms)",
    );
    this.#endListening = db.prepare("DELETE FROM listeners WHERE tenant = ?");
    this.#addEvent = db.prepare(
      "INSERT INTO events(tenant, source, type, at_ms, text) " +
        "SELECT tenant, 2, ?2, ?3, ?4 FROM listeners WHERE tenant = ?1",
    );
    this.#nameTenant = db.prepare("INSERT OR IGNORE INTO tenants VALUES(?, ?)");
    this.#nameQueue = db.prepare("INSERT OR IGNORE INTO lanes VALUES(?, ?, ?)");
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#savepoint = db.prepare("SAVEPOINT piece");
    this.#undo = db.prepare("ROLLBACK TO piece");
    this.#release = db.prepare("RELEASE piece");
  }

  /**
   * Applies the transactions in lists of operations and returns a code for
   * each: {@linkcode APPLIED} or a {@linkcode conflictCode}. The transactions
   * are durable when this returns; nothing is written when it throws.
   */
  apply(packed: readonly OperationList[]): number[] {
    const lists = packed.map(decodeValues);
    try {
      return this.#applyAll(lists, false);
    } catch (error) {
      const isConflict = error instanceof BatchMismatch ||
        isConflictError(error);
      if (!isConflict) throw error;
      // A row conflicted that seldom does. The second try undoes only its
      // transaction.
      return this.#applyAll(lists, true);
    }
  }

  /** How many milliseconds the last commit took, most of them for the disk. */
  get commitMs(): number {
    return this.#commitMs;
  }

  #applyAll(
    lists: readonly (readonly OperationValue[])[],
    isCareful: boolean,
  ): number[] {
    this.#begin.run();
    try {
      this.#tasks.beginGroup();
      this.#records.beginGroup();
      this.#usage.beginGroup();
      this.#starts.beginGroup();
      this.#counts.beginGroup();
      const codes: number[] = [];
      for (const list of lists) this.#applyList(list, codes, isCareful);
      this.#tasks.flush();
      this.#usage.endGroup();
      this.#starts.endGroup();
      this.#counts.endGroup();
      const commitAtMs = performance.now();
      this.#commit.run();
      this.#commitMs = performance.now() - commitAtMs;
      return codes;
    } catch (error) {
      rollBack(this.#db);
      this.#tasks.forget();
      throw error;
    }
  }

  #applyList(
    list: readonly OperationValue[],
    codes: number[],
    isCareful: boolean,
  ): void {
    const cursor = new OperationCursor(list);
    while (!cursor.isAtEnd) {
      const operation = cursor.number();
      switch (operation) {
        case OPERATION.nameTenant:
          this.#nameTenant.run(...cursor.take(2));
          break;
        case OPERATION.nameQueue:
          this.#nameQueue.run(...cursor.take(3));
          break;
        case OPERATION.transaction:
          codes.push(this.#applyTransaction(cursor, isCareful));
          break;
        default:
          throw new TypeError(`Cannot apply operation ${operation}: unknown`);
      }
    }
  }

  #applyTransaction(cursor: OperationCursor, isCareful: boolean): number {
    const writes = cursor.number();
    const form = cursor.number();
    const end = cursor.number() + cursor.index;
    const needsUndoing = isCareful || form === TRANSACTION_FORM.undoable;
    if (needsUndoing) {
      this.#tasks.flush();
      this.#savepoint.run();
    }
    this.#tasks.beginTransaction({
      mayWait: !needsUndoing,
      isCreation: form === TRANSACTION_FORM.creation,
    });
    let code = APPLIED;
    for (let write = 0; write < writes && code === APPLIED; write++) {
      const reason = this.#attempt(cursor, isCareful);
      if (reason !== undefined) code = conflictCode(write, reason);
    }
    cursor.moveTo(end);
    if (code !== APPLIED && needsUndoing) {
      this.#undo.run();
      this.#tasks.undo();
      this.#records.beginGroup();
    }
    if (needsUndoing) this.#release.run();
    this.#usage.endTransaction(code === APPLIED);
    this.#starts.endTransaction(code === APPLIED);
    this.#counts.endTransaction(code === APPLIED);
    return code;
  }

  #attempt(
    cursor: OperationCursor,
    isCareful: boolean,
  ): ConflictReason | undefined {
    try {
      return this.#applyWrite(cursor);
    } catch (error) {
      if (isCareful && isConflictError(error)) return "version";
      throw error;
    }
  }

  #applyWrite(cursor: OperationCursor): ConflictReason | undefined {
    const operation = cursor.number();
    switch (operation) {
      case OPERATION.putTask:
        return this.#tasks.put(cursor);
      case OPERATION.putFoldedTask:
        return this.#tasks.putFolded(cursor);
      case OPERATION.removeTask:
        return this.#tasks.remove(cursor);
      case OPERATION.putRecord:
        return this.#records.put(cursor);
      case OPERATION.removeRecord:
        return this.#records.remove(cursor);
      case OPERATION.requireRecord:
        return this.#records.require(cursor);
      case OPERATION.requireRoom:
        return this.#counts.requireRoom(cursor);
      case OPERATION.putAnswer:
        return this.#answers.put(cursor);
      case OPERATION.addAudit:
        this.#addAudit.run(...cursor.take(5));
        return undefined;
      case OPERATION.listen:
        this.#applyListen(...cursor.take(2));
        return undefined;
      case OPERATION.addEvent:
        // The events of the tasks that wait to be written come before.
        this.#tasks.flush();
        this.#addEvent.run(...cursor.take(4));
        return undefined;
      case OPERATION.addUsage:
        this.#usage.add(cursor.take(2), cursor.number());
        return undefined;
      case OPERATION.addStart:
        this.#starts.add(cursor.take(5), cursor.number());
        return undefined;
      case OPERATION.addActivity:
        this.#addActivity.run(...cursor.take(6 + ACTIVITY_COLUMNS.length));
        return undefined;
      default:
        throw new TypeError(`Cannot apply operation ${operation}: unknown`);
    }
  }

  #applyListen(tenant: OperationValue = null, untilMs?: OperationValue): void {
    if (untilMs === 0) this.#endListening.run(tenant);
    else this.#listen.run(tenant, untilMs ?? null);
  }
}

/**
 * Whether a row conflicts with another one. A trigger that refuses every write
 * is no conflict, although SQLite calls both a violated constraint.
 */
function isConflictError(error: unknown): boolean {
  return isConstraintError(error) && !isTriggerError(error);
}
