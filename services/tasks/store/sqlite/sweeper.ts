/**
 * Removal of what has outlived its time, a bounded part at once.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { inTransaction } from "../../../shared/sqlite/transaction.ts";

/** Sweeps a database. */
export class Sweeper {
  readonly #db: DatabaseSync;
  readonly #expired: StatementSync;
  readonly #removeAnswer: StatementSync;
  readonly #nextRemoved: StatementSync;
  readonly #lastSeq: StatementSync;
  readonly #removeHistory: StatementSync;
  readonly #forget: StatementSync;

  /** A sweeper for a connection that writes. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    // In one statement, with IN, all answers would be looked at.
    this.#expired = db.prepare(
      "SELECT tenant, key FROM idempotency INDEXED BY idempotency_by_expiry " +
        "WHERE expires_ms <= ? LIMIT ?",
    );
    this.#removeAnswer = db.prepare(
      "DELETE FROM idempotency WHERE tenant = ? AND key = ?",
    );
    this.#nextRemoved = db.prepare("SELECT n FROM removed_histories LIMIT 1");
    this.#lastSeq = db.prepare(
      "SELECT max(seq) AS seq FROM history WHERE n = ?",
    );
    this.#removeHistory = db.prepare(
      "DELETE FROM history WHERE n = ? AND seq > ?",
    );
    this.#forget = db.prepare("DELETE FROM removed_histories WHERE n = ?");
  }

  /** Removes at most `limit` rows and tells how many. */
  sweep(nowMs: number, limit: number): number {
    return inTransaction(this.#db, () => {
      const expired = this.#expired.all(nowMs, limit);
      for (const { tenant = null, key = null } of expired) {
        this.#removeAnswer.run(tenant, key);
      }
      return expired.length + this.#sweepHistories(limit - expired.length);
    });
  }

  #sweepHistories(limit: number): number {
    let left = limit;
    while (left > 0) {
      const n = this.#nextRemoved.get()?.["n"];
      if (n === undefined) break;
      const last = Number(this.#lastSeq.get(n)?.["seq"] ?? 0);
      const from = Math.max(0, last - left);
      left -= Number(this.#removeHistory.run(n, from).changes);
      if (from === 0) this.#forget.run(n);
    }
    return limit - left;
  }
}
