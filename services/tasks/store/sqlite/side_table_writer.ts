/**
 * Writes of idempotency entries and counted use.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ConflictReason, OperationCursor } from "./operation.ts";

/** Use of one tenant in one period. */
interface Use {
  readonly tenant: number;
  readonly period: string;
  executions: number;
}

/** Writes what stands beside tasks and records. */
export class SideTableWriter {
  readonly #putAnswer: StatementSync;
  readonly #removeExpired: StatementSync;
  readonly #addUsage: StatementSync;
  /** Use is summed up, as each start of a task counts one for the same row. */
  readonly #groupUse = new Map<string, Use>();
  #transactionUse: Use[] = [];

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#removeExpired = db.prepare(
      "DELETE FROM idempotency " +
        "WHERE tenant = ? AND key = ? AND expires_ms <= ?",
    );
    this.#putAnswer = db.prepare(
      "INSERT OR IGNORE INTO idempotency VALUES(?, ?, ?, ?, ?, ?, ?)",
    );
    this.#addUsage = db.prepare(
      "INSERT INTO usage VALUES(?, ?, ?) ON CONFLICT(tenant, period) " +
        "DO UPDATE SET executions = executions + excluded.executions",
    );
  }

  /** A group begins. */
  beginGroup(): void {
    this.#groupUse.clear();
    this.#transactionUse = [];
  }

  /** A transaction ends; what it counted stays or is forgotten. */
  endTransaction(isApplied: boolean): void {
    if (this.#transactionUse.length === 0) return;
    if (isApplied) {
      for (const use of this.#transactionUse) this.#count(use);
    }
    this.#transactionUse = [];
  }

  /** The group is about to be committed. */
  endGroup(): void {
    for (const { tenant, period, executions } of this.#groupUse.values()) {
      this.#addUsage.run(tenant, period, executions);
    }
  }

  /** Remembers an answer. */
  putAnswer(cursor: OperationCursor): ConflictReason | undefined {
    const nowMs = cursor.number();
    const values = cursor.take(7);
    const [tenant = null, key = null] = values;
    this.#removeExpired.run(tenant, key, nowMs);
    const { changes } = this.#putAnswer.run(...values);
    return changes === 0 ? "idempotency" : undefined;
  }

  /** Counts use. */
  addUsage(cursor: OperationCursor): undefined {
    this.#transactionUse.push({
      tenant: cursor.number(),
      period: cursor.text(),
      executions: cursor.number(),
    });
  }

  #count(use: Use): void {
    const key = `${use.tenant} ${use.period}`;
    const there = this.#groupUse.get(key);
    if (there === undefined) this.#groupUse.set(key, use);
    else there.executions += use.executions;
  }
}
