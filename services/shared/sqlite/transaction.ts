/**
 * Transactions that end, whatever happens within them.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";

/** What transactions are run on. */
export type TransactionTarget = Pick<DatabaseSync, "exec" | "isTransaction">;

/**
 * Runs `work` in a transaction that takes the right to write at its beginning,
 * so that two who do it at once are kept in order.
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
