/**
 * A stream of list rows, read in the list's order from a single index.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
import { type Reader, readNumber, type Row } from "./reader.ts";

/** An SQL condition with its values. */
export interface Condition {
  /** The condition as SQL. */
  readonly sql: string;
  /** The values, in the order of the question marks. */
  readonly values: readonly SQLInputValue[];
}

/** Joins conditions by AND; an empty text when there are none. */
export function joined(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** A row's place in a list. */
export interface ListPlace {
  /** The time that orders the list. */
  readonly at: number;
  /** The task's number, which breaks ties. */
  readonly n: number;
}

/** The index and the conditions of a stream. */
export interface StreamSource {
  /** The table with its index, as SQL after FROM. */
  readonly from: string;
  /**
   * Whether the table is not that of the tasks, which then is read for the
   * conditions.
   *
   * @default {false}
   */
  readonly isApart?: boolean | undefined;
  /**
   * The condition on the first columns of the index, which all rows of the
   * stream meet.
   */
  readonly prefix: Condition;
  /** The column that orders the stream, the next one of the index. */
  readonly column: string;
  /** The other conditions, which rows may fail. */
  readonly conditions: readonly Condition[];
  /** The first row of the stream within the range, if it is known. */
  readonly first?: ListPlace;
}

/** The range and direction in which a stream is read. */
export interface StreamRange {
  /** The direction of the order. */
  readonly order: "asc" | "desc";
  /** The earliest instant, inclusive. */
  readonly fromMs?: number | undefined;
  /** The latest instant, inclusive. */
  readonly toMs?: number | undefined;
  /** Only rows after this place, which has to be within the range. */
  readonly after?: ListPlace | undefined;
}

/** Reads the places of a stream piece by piece. */
export class ListStream {
  readonly #reader: Reader;
  readonly #source: StreamSource;
  readonly #range: StreamRange;
  #frontier: ListPlace | undefined;
  #found: ListPlace[] = [];
  #headIndex = 0;
  #hasRead = false;
  #isExhausted = false;

  /** Creates the stream without reading. */
  constructor(
    reader: Reader,
    options: { readonly source: StreamSource; readonly range: StreamRange },
  ) {
    this.#reader = reader;
    this.#source = options.source;
    this.#range = options.range;
    this.#frontier = options.range.after;
  }

  /**
   * The next place that was found; undefined when more rows have to be read.
   */
  get head(): ListPlace | undefined {
    return this.#found[this.#headIndex];
  }

  /** Whether rows of the stream may fail its conditions. */
  get isFiltered(): boolean {
    return this.#source.conditions.length > 0;
  }

  /** Whether any rows were read. */
  get hasRead(): boolean {
    return this.#hasRead;
  }

  /** Whether all places were read and taken. */
  get isDone(): boolean {
    return this.#isExhausted && this.head === undefined;
  }

  /** Whether all rows were read. */
  get isExhausted(): boolean {
    return this.#isExhausted;
  }

  /**
   * A place before which the stream has no more rows; undefined when no such
   * place is known.
   */
  get bound(): ListPlace | undefined {
    const { first } = this.#source;
    return this.head ?? (this.#hasRead ? this.#frontier : first);
  }

  /** The last place up to which, inclusive, the stream has no more rows. */
  get end(): ListPlace | undefined {
    const { first } = this.#source;
    if (this.#hasRead || first === undefined) return this.#frontier;
    const { at, n } = first;
    return { at, n: this.#range.order === "asc" ? n - 1 : n + 1 };
  }

  /** Removes the head. */
  shift(): void {
    this.#headIndex++;
  }

  /** Reads up to `count` more rows and returns how many there were. */
  read(count: number): number {
    const rows = this.#behind(count);
    this.#hasRead = true;
    const last = rows.at(-1);
    if (last !== undefined) this.#frontier = last;
    this.#isExhausted = rows.length < count;
    this.#found = [
      ...this.#found.slice(this.#headIndex),
      ...rows.filter(({ fits }) => fits),
    ];
    this.#headIndex = 0;
    return rows.length;
  }

  /**
   * Reads up to `count` more rows without keeping them, and returns how many
   * met the conditions.
   */
  skip(count: number): { readonly looked: number; readonly fitting: number } {
    const looked = this.read(count);
    const fitting = this.#found.length;
    this.#found = [];
    return { looked, fitting };
  }

  /** Counts the remaining rows of a stream without conditions, up to `most`. */
  count(most: number): number {
    const { column } = this.#source;
    const { sql, values } = this.#selection(
      toConditions(this.#range, { column, after: this.#frontier }),
    );
    return this.#reader.number(
      `SELECT count(*) FROM (SELECT 1 ${sql} LIMIT ?)`,
      ...values,
      most,
    ) ?? 0;
  }

  #behind(count: number): readonly LookedAt[] {
    const { column } = this.#source;
    const rows: LookedAt[] = [];
    const ranges = rangesBehind(this.#range, { column, after: this.#frontier });
    for (const bounds of ranges) {
      if (rows.length === count) break;
      rows.push(...this.#select(bounds, count - rows.length));
    }
    return rows;
  }

  #select(bounds: readonly Condition[], limit: number): LookedAt[] {
    const { column, conditions, isApart = false } = this.#source;
    const { order } = this.#range;
    const fits = joined(conditions);
    const from = this.#selection(bounds);
    // CASE stops at the first condition that does not hold.
    const fitting = fits.sql === ""
      ? "1"
      : `CASE WHEN ${fits.sql} THEN 1 ELSE 0 END`;
    const ordered = `ORDER BY ${column} ${order}, n ${order} LIMIT ?`;
    if (!isApart || fits.sql === "") {
      return this.#reader.rows(
        `SELECT ${column} AS at, n, ${fitting} AS fits ${from.sql} ${ordered}`,
        ...fits.values,
        ...from.values,
        limit,
      ).map(lookedAt);
    }
    // Conditions are checked of no more tasks than are wanted.
    return this.#reader.rows(
      `SELECT page.at, page.n, ${fitting} AS fits ` +
        `FROM (SELECT ${column} AS at, n ${from.sql} ${ordered}) AS page ` +
        "CROSS JOIN tasks ON tasks.n = page.n " +
        `ORDER BY page.at ${order}, page.n ${order}`,
      ...fits.values,
      ...from.values,
      limit,
    ).map(lookedAt);
  }

  /** The SQL that selects the stream's rows from its index. */
  #selection(bounds: readonly Condition[]): Condition {
    const { from, prefix } = this.#source;
    const { sql, values } = joined([
      prefix,
      ...bounds,
    ]);
    return { sql: `FROM ${from} WHERE ${sql}`, values };
  }
}

/** A row that was read. */
interface LookedAt extends ListPlace {
  /** Whether it satisfies the conditions. */
  readonly fits: boolean;
}

/**
 * The limits of a range as conditions. The limit that `after` makes needless is
 * left out: with two on the same side, the database might begin at the wrong
 * one, and walk over the rows in between.
 */
function toConditions(
  { order, fromMs, toMs }: StreamRange,
  { column, after }: {
    readonly column: string;
    readonly after: ListPlace | undefined;
  },
): readonly Condition[] {
  const bounds: Condition[] = [];
  if (fromMs !== undefined && (after === undefined || order === "desc")) {
    bounds.push({ sql: `${column} >= ?`, values: [fromMs] });
  }
  if (toMs !== undefined && (after === undefined || order === "asc")) {
    bounds.push({ sql: `${column} <= ?`, values: [toMs] });
  }
  return bounds;
}

/**
 * The rows of a range after a place, or all of them, as conditions of queries
 * to run one after the other. The rows of the place's own instant are a
 * separate query: only then does the index lead to the place, however many rows
 * there are.
 */
export function rangesBehind(
  range: StreamRange,
  { column, after }: {
    readonly column: string;
    readonly after: ListPlace | undefined;
  },
): readonly (readonly Condition[])[] {
  const window = toConditions(range, { column, after });
  if (after === undefined) return [window];
  const behind = range.order === "asc" ? ">" : "<";
  return [
    [{ sql: `${column} = ? AND n ${behind} ?`, values: [after.at, after.n] }],
    [{ sql: `${column} ${behind} ?`, values: [after.at] }, ...window],
  ];
}

/** Compares places in the order of a list. */
export function comparePlaces(
  left: ListPlace,
  right: ListPlace,
  order: "asc" | "desc",
): number {
  const rising = left.at - right.at || left.n - right.n;
  return order === "asc" ? rising : -rising;
}

function lookedAt(row: Row): LookedAt {
  return {
    at: readNumber(row, "at"),
    n: readNumber(row, "n"),
    fits: row["fits"] === 1,
  };
}
