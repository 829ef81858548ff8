/**
 * Runs queries on a connection, with cached statements and snapshots.
 *
 * @module
 */

import type {
  DatabaseSync,
  SQLInputValue,
  SQLOutputValue,
  StatementSync,
} from "node:sqlite";
import { BoundedMap } from "../../../shared/bounded_map.ts";

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** Options of {@linkcode Reader.paged}. */
interface PagedOptions {
  /** The columns that order the rows; they contain integers. */
  readonly key: readonly string[];
  /** How many rows are in memory at once. */
  readonly pageSize: number;
}

/**
 * The most prepared statements that are cached. Lists build their statements
 * from filters, so the number of different ones is not limited otherwise.
 */
const MAX_STATEMENTS = 200;

/**
 * Runs queries on a database. All rows of an answer are read at once: an
 * unfinished statement would keep the log from being emptied.
 */
export class Reader {
  readonly #db: DatabaseSync;
  readonly #statements = new BoundedMap<string, StatementSync>({
    maxEntries: MAX_STATEMENTS,
  });
  #isInSnapshot = false;

  /** Takes the connection. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Returns all rows of a query. */
  rows(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#statement(sql).all(...values);
  }

  /**
   * Yields all rows of a query and holds one page of them at a time. The query
   * has to order by the unique `key` columns, compare them with as many
   * placeholders, and end in a LIMIT.
   */
  *paged(sql: string, { key, pageSize }: PagedOptions): Generator<Row> {
    let after: readonly SQLInputValue[] = key.map(() =>
      Number.MIN_SAFE_INTEGER
    );
    while (true) {
      const rows = this.rows(sql, ...after, pageSize);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageSize) return;
      after = key.map((column) => last[column] ?? null);
    }
  }

  /** Returns the first row of a query. */
  row(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  /** Returns the number in the first column of a query's first row. */
  number(sql: string, ...values: readonly SQLInputValue[]): number | undefined {
    const value = this.#value(sql, values);
    return typeof value === "number" ? value : undefined;
  }

  /** Returns the text in the first column of a query's first row. */
  text(sql: string, ...values: readonly SQLInputValue[]): string | undefined {
    const value = this.#value(sql, values);
    return typeof value === "string" ? value : undefined;
  }

  /** Runs several queries on one state of the database. */
  snapshot<Answer>(ask: () => Answer): Answer {
    if (this.#isInSnapshot) return ask();
    const state = this.hold();
    try {
      return ask();
    } finally {
      state.release();
    }
  }

  /**
   * Begins to read from one state of the database, until it is released. Later
   * commits are not visible and stay in the log.
   */
  hold(): { release(): void } {
    this.#statement("BEGIN").run();
    this.#isInSnapshot = true;
    return {
      release: () => {
        this.#isInSnapshot = false;
        this.#statement("COMMIT").run();
      },
    };
  }

  /** Closes the connection. */
  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #value(
    sql: string,
    values: readonly SQLInputValue[],
  ): SQLOutputValue | undefined {
    const row = this.#statement(sql).get(...values);
    return row === undefined ? undefined : Object.values(row)[0];
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Reads a number from a column. */
export function readNumber(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw new TypeError(`Cannot read column "${column}": it holds no number`);
}

/** Reads a text from a column. */
export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read column "${column}": it holds no text`);
}
