/**
 * Transactions that end even when their work fails.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";

/** The part of a connection that transactions need. */
type TransactionTarget = Pick<DatabaseSync, "exec" | "isTransaction">;

/**
 * Runs `work` in a transaction that takes the write lock at its beginning, so
 * that two at once run one after the other.
 *
 * @returns what `work` returns, once it is durable
 * @throws what `work` or the commit throws; nothing is written then
 */
export function inTransaction<Result>(
  db: TransactionTarget,
  work: () => Result,
): Result {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/**
 * Ends a transaction in which something failed. After some errors, that of a
 * full disk among them, SQLite has ended it by itself; another ROLLBACK would
 * fail and hide the reason.
 */
export function rollBack(db: TransactionTarget): void {
  if (db.isTransaction) db.exec("ROLLBACK");
}
