/**
 * A part of a list that one index holds in the list's order.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
import { numberOf, type Reader, type Row } from "./reader.ts";

/** A condition with the values it asks for. */
export interface Condition {
  /** What must hold. */
  readonly sql: string;
  /** The values, in the order of the question marks. */
  readonly values: readonly SQLInputValue[];
}

/** All of some conditions; an empty text when there are none. */
export function joined(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** A row's place in a list. */
export interface ListPlace {
  /** The time that orders. */
  readonly at: number;
  /** The task's number, which breaks ties. */
  readonly n: number;
}

/** Where a stream comes from. */
export interface StreamSource {
  /** The index. */
  readonly index: string;
  /** The condition that all of its rows satisfy, on the first columns of the index. */
  readonly prefix: Condition;
  /** The column that orders it, the next one of the index. */
  readonly column: string;
  /** The other conditions of its rows. */
  readonly conditions: readonly Condition[];
  /** The first of its rows in the range that is read, if that is known. */
  readonly first?: ListPlace;
}

/** How a stream is read. */
export interface StreamRange {
  /** Which way. */
  readonly order: "asc" | "desc";
  /** The first instant. */
  readonly fromMs?: number | undefined;
  /** The last instant. */
  readonly toMs?: number | undefined;
  /** Only behind this place, which is in the window. */
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

  /** A stream of which nothing is read yet. */
  constructor(
    reader: Reader,
    options: { readonly source: StreamSource; readonly range: StreamRange },
  ) {
    this.#reader = reader;
    this.#source = options.source;
    this.#range = options.range;
    this.#frontier = options.range.after;
  }

  /** The next place that was found; undefined when more has to be read. */
  get head(): ListPlace | undefined {
    return this.#found[this.#headIndex];
  }

  /** Whether there are rows that do not fit. */
  get isFiltered(): boolean {
    return this.#source.conditions.length > 0;
  }

  /** Whether any of its rows were looked at. */
  get hasRead(): boolean {
    return this.#hasRead;
  }

  /** Whether none of its rows are left. */
  get isDone(): boolean {
    return this.#isExhausted && this.head === undefined;
  }

  /** Whether nothing is left to be read. */
  get isExhausted(): boolean {
    return this.#isExhausted;
  }

  /**
   * A place before which none of its rows are left; undefined when that is not
   * known of any.
   */
  get bound(): ListPlace | undefined {
    const { first } = this.#source;
    return this.head ?? (this.#hasRead ? this.#frontier : first);
  }

  /** The last place before which, itself included, none of its rows are left. */
  get end(): ListPlace | undefined {
    const { first } = this.#source;
    if (this.#hasRead || first === undefined) return this.#frontier;
    const { at, n } = first;
    return { at, n: this.#range.order === "asc" ? n - 1 : n + 1 };
  }

  /** Goes on behind the head. */
  shift(): void {
    this.#headIndex++;
  }

  /** Looks at up to `count` more rows and returns how many there were. */
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

  /** Looks at up to `count` more rows and returns how many of them fit. */
  skip(count: number): { readonly looked: number; readonly fitting: number } {
    const looked = this.read(count);
    const fitting = this.#found.length;
    this.#found = [];
    return { looked, fitting };
  }

  /** How many rows there are, of a stream without conditions; `most` at most. */
  count(most: number): number {
    const { column } = this.#source;
    const { sql, values } = this.#selection(
      windowOf(this.#range, { column, after: this.#frontier }),
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
    const { column, conditions } = this.#source;
    const { order } = this.#range;
    const fits = joined(conditions);
    const from = this.#selection(bounds);
    // As a case it stops at the first condition that does not hold.
    return this.#reader.rows(
      `SELECT ${column} AS at, n, ` +
        (fits.sql === "" ? "1" : `CASE WHEN ${fits.sql} THEN 1 ELSE 0 END`) +
        ` AS fits ${from.sql} ORDER BY ${column} ${order}, n ${order} LIMIT ?`,
      ...fits.values,
      ...from.values,
      limit,
    ).map(lookedAt);
  }

  /** The stream's part of its index. */
  #selection(bounds: readonly Condition[]): Condition {
    const { index, prefix } = this.#source;
    const { sql, values } = joined([
      prefix,
      ...bounds,
    ]);
    return { sql: `FROM tasks INDEXED BY ${index} WHERE ${sql}`, values };
  }
}

/** A row that was looked at. */
interface LookedAt extends ListPlace {
  /** Whether it satisfies the conditions. */
  readonly fits: boolean;
}

/**
 * The bounds of a range, but for the one that a place within it is beyond: with
 * two of them on one side the database might begin at the wrong one, and walk.
 */
function windowOf(
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
 * The rows of a range that are behind a place, or all of them, as conditions of
 * queries one after the other. The rows of the place's own instant are a query of
 * their own: only then the index leads to the place, however many there are.
 */
export function rangesBehind(
  range: StreamRange,
  { column, after }: {
    readonly column: string;
    readonly after: ListPlace | undefined;
  },
): readonly (readonly Condition[])[] {
  const window = windowOf(range, { column, after });
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
    at: numberOf(row, "at"),
    n: numberOf(row, "n"),
    fits: row["fits"] === 1,
  };
}
