/**
 * Removes expired rows of a table in batches.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Which rows expire, and when. */
interface ExpiredRowsOptions {
  /** The table, which may be followed by the index that finds the rows. */
  readonly from: string;
  /** The columns of the table's key. */
  readonly key: readonly [string, string];
  /** The condition of rows that have expired, with one place for its bound. */
  readonly where: string;
}

/**
 * Removes expired rows. They are found first and removed one by one: in one
 * statement, with `IN`, the database would scan all rows of the table.
 */
export class ExpiredRows {
  readonly #find: StatementSync;
  readonly #remove: StatementSync;

  /** Prepares the statements. */
  constructor(
    db: DatabaseSync,
    { from, key: [first, second], where }: ExpiredRowsOptions,
  ) {
    this.#find = db.prepare(
      `SELECT ${first} AS first, ${second} AS second FROM ${from} ` +
        `WHERE ${where} LIMIT ?`,
    );
    const [table] = from.split(" ");
    this.#remove = db.prepare(
      `DELETE FROM ${table} WHERE ${first} = ? AND ${second} = ?`,
    );
  }

  /** Removes at most `limit` rows and returns how many it removed. */
  remove(bound: number, limit: number): number {
    const rows = this.#find.all(bound, limit);
    for (const { first = null, second = null } of rows) {
      this.#remove.run(first, second);
    }
    return rows.length;
  }
}
