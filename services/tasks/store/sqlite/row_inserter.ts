/**
 * Rows that are inserted several at once: half the work of inserting one is
 * calling the statement.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { OperationValue } from "./operation.ts";

/** Options of {@linkcode RowInserter}. */
export interface RowInserterOptions {
  /** The statement up to its `VALUES`. */
  readonly insert: string;
  /** How many values a row has. */
  readonly width: number;
}

/** Rows of one statement, most first; the last is 1, so that any number fits. */
const ROW_COUNTS = [16, 8, 4, 2, 1] as const;

interface Step {
  /** How many values it takes. */
  readonly values: number;
  readonly statement: StatementSync;
}

/** Inserts rows into one table. */
export class RowInserter {
  readonly #steps: readonly Step[];

  /** Prepares the statements. */
  constructor(db: DatabaseSync, { insert, width }: RowInserterOptions) {
    this.#steps = ROW_COUNTS.map((rows) => ({
      values: rows * width,
      statement: db.prepare(insert + places(width, rows)),
    }));
  }

  /**
   * Inserts rows, whose values follow each other; tells how many it were.
   *
   * @throws {TypeError} when the last row is not whole
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

/** Placeholders of rows. */
export function places(width: number, rows: number): string {
  const row = `(${new Array(width).fill("?").join()})`;
  return new Array(rows).fill(row).join();
}
