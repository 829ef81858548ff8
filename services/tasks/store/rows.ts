/**
 * The part of the store's interface by which all that a store holds is read as
 * it stands at one moment, to be written to a file or to another store.
 *
 * @module
 */

import type { HistoryRecord } from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import type { TaskPosition } from "./queries.ts";
import type { AuditEntry, IdempotencyEntry, StoredRecord } from "./stored.ts";

/** Lets all rows be read. */
export interface RowSource {
  /**
   * Calls `read` with all rows as they stand at one moment. Later
   * writes are not seen, and wait for nothing.
   *
   * @throws what `read` throws
   * @throws {StoreFailedError} when the store fails
   */
  snapshot<Answer>(
    read: (rows: StoredRows) => Promise<Answer>,
  ): Promise<Answer>;
}

/**
 * All rows of a store at one moment, in pages of one tenant. A page may be
 * short although more rows follow; it is empty only at the end. Every engine
 * gives the rows in the same order, so that copies can be compared side by
 * side. Texts are in the order of their bytes in UTF-8.
 */
export interface StoredRows {
  /**
   * The ids of all tenants that have rows, in order. The id "" comes first; a
   * tenant may be among them of which no row is left.
   */
  tenantIds(page: RowPage<string>): Promise<readonly string[]>;
  /** How many rows a tenant has; records of histories are not counted. */
  count(of: RowsOf): Promise<RowCounts>;
  /** Records, by kind and id. */
  records(
    page: RowsOf & RowPage<Pick<StoredRecord, "kind" | "id">>,
  ): Promise<readonly StoredRecord[]>;
  /** Tasks, by their creation and id. */
  tasks(page: RowsOf & RowPage<TaskPosition>): Promise<readonly Task[]>;
  /**
   * The histories of tasks, in the order of the given ids and by number. The
   * first record of a history follows the folded ones that its task names.
   */
  histories(
    page: RowsOf & RowPage<HistoryPosition> & {
      /** The tasks, as they were just read. */
      readonly taskIds: readonly string[];
    },
  ): Promise<readonly HistoryRow[]>;
  /** Answers to requests that have not expired, by key. */
  answers(page: RowsOf & RowPage<string>): Promise<readonly AnswerRow[]>;
  /** Usage counts that are not 0, by period. */
  usage(page: RowsOf & RowPage<string>): Promise<readonly UsageRow[]>;
  /** Starts that count for rates still, by worker, group and instant. */
  starts(
    page:
      & RowsOf
      & RowPage<Pick<StartRow, "workerId" | "group" | "atMs">>,
  ): Promise<readonly StartRow[]>;
  /** Entries of the audit log, by number. */
  audit(page: RowsOf & RowPage<number>): Promise<readonly AuditEntry[]>;
  /**
   * How many requests of the inbox wait, of all tenants or of one. They are none
   * of the rows: the sender's database has to keep them. Only of a store that
   * has an inbox.
   */
  waiting?(tenantId: string | undefined): Promise<number>;
}

/** Which page of rows to read. */
export interface RowPage<Position> {
  /** The most rows of the page. */
  readonly limit: number;
  /** The last row of the page before; absent for the first page. */
  readonly after?: Position | undefined;
}

/** Whose rows to read, and when. */
export interface RowsOf {
  /** The tenant. */
  readonly tenantId: string;
  /** The instant by which answers and starts have expired. */
  readonly nowMs: number;
}

/** How many rows of each kind there are. */
export interface RowCounts {
  /** The records. */
  readonly records: number;
  /** The tasks. */
  readonly tasks: number;
  /** The answers that have not expired. */
  readonly answers: number;
  /** The periods with usage counts that are not 0. */
  readonly usage: number;
  /** The rows of starts that count for rates still. */
  readonly starts: number;
  /** The entries of the audit log. */
  readonly audit: number;
}

/** A place in histories. */
export interface HistoryPosition {
  /** The task. */
  readonly taskId: string;
  /** The number of the record. */
  readonly seq: number;
}

/**
 * A record of a task's history, as it is stored: the hash of the record before
 * is that of the row before.
 */
export interface HistoryRow
  extends HistoryPosition, Pick<HistoryRecord, "text" | "hash"> {}

/** The stored answer to a request. */
export interface AnswerRow {
  /** The key of the request. */
  readonly key: string;
  /** The answer. */
  readonly entry: IdempotencyEntry;
}

/** The usage counts of a period. */
export interface UsageRow {
  /** The period. */
  readonly period: string;
  /** How many attempts were started. */
  readonly executions: number;
}

/** Starts that count for a rate. */
export interface StartRow {
  /** The worker; empty for the workers that share the limits of groups. */
  readonly workerId: string;
  /** The group; empty for the rate of all the worker's tasks. */
  readonly group: string;
  /** When the tasks were started. */
  readonly atMs: number;
  /** From when on none of them counts any longer. */
  readonly expiresAtMs: number;
  /** How many tasks were started. */
  readonly count: number;
}
