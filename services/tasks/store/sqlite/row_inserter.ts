/**
 * Inserts rows into a table, several with each statement.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { OperationValue } from "./thread_messages.ts";

/**
 * How many rows each statement inserts, most first. The last is 1, so that any
 * number of rows can be inserted.
 */
const ROW_COUNTS = [16, 8, 4, 2, 1] as const;

interface Step {
  /** How many values the statement takes. */
  readonly values: number;
  readonly statement: StatementSync;
}

/** Inserts rows into a table, several with each statement. */
export class RowInserter {
  readonly #steps: readonly Step[];

  /**
   * Prepares the statements: `insert` is the SQL up to and including `VALUES`,
   * `width` the number of values in a row.
   */
  constructor(
    db: DatabaseSync,
    { insert, width }: { readonly insert: string; readonly width: number },
  ) {
    const row = `(${new Array(width).fill("?").join()})`;
    this.#steps = ROW_COUNTS.map((rows) => ({
      values: rows * width,
      statement: db.prepare(insert + new Array(rows).fill(row).join()),
    }));
  }

  /**
   * Inserts rows, whose values follow each other; returns how many were
   * inserted.
   *
   * @throws {TypeError} when the last row is incomplete
   */
  run(values: readonly OperationValue[]): number {
    let changes = 0;
    let from = 0;
    for (const step of this.#steps) {
      while (from + step.values <= values.length) {
        const to = from + step.values;
        const part = values.slice(from, to);
        changes += Number(step.statement.run(...part).changes);
        from = to;
      }
    }
    if (from === values.length) return changes;
    throw new TypeError("Cannot insert rows: the last one is not whole");
  }
}
