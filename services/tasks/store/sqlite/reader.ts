/**
 * The connection that reads.
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
  /** The columns that order the rows; they hold integers. */
  readonly key: readonly string[];
  /** How many rows are held at once. */
  readonly pageSize: number;
}

/**
 * Most statements that are kept ready. Lists make theirs from their filters, so
 * the number of different ones has no bound of its own.
 */
const MAX_STATEMENTS = 200;

/**
 * Queries a database. All rows of an answer are read at once: a statement that is
 * left in the middle would keep the log from being emptied.
 */
export class Reader {
  readonly #db: DatabaseSync;
  readonly #statements = new BoundedMap<string, StatementSync>({
    maxEntries: MAX_STATEMENTS,
  });
  #isInSnapshot = false;

  /** A reader over a connection. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** All rows of a query. */
  rows(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#statement(sql).all(...values);
  }

  /**
   * All rows of a query, of which a page is held at a time: it is ordered by unique
   * `key` columns, compares them with as many placeholders, and ends in a LIMIT.
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

  /** The first row of a query. */
  row(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  /** The number in the first column of the first row of a query. */
  number(sql: string, ...values: readonly SQLInputValue[]): number | undefined {
    const value = this.#value(sql, values);
    return typeof value === "number" ? value : undefined;
  }

  /** The text in the first column of the first row of a query. */
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
   * Keeps to one state of the database until it is released. Later commits stay in
   * the log and are not seen.
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

/** A column that is a number. */
export function numberOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw new TypeError(`Cannot read column "${column}": it holds no number`);
}

/** A column that is a text. */
export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read column "${column}": it holds no text`);
}
