/**
 * A part of a list that one index holds in the list's order.
 *
 * @module
 */

import type { Condition } from "./list_conditions.ts";
import { numberOf, type Reader, type Row } from "./reader.ts";

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
  /** What is the same for all of its rows. */
  readonly prefix: Condition;
  /** The column that orders it, the next one of the index. */
  readonly column: string;
  /** What else its rows have to satisfy. */
  readonly conditions: readonly Condition[];
}

/** How a stream is read. */
export interface StreamRange {
  /** Which way. */
  readonly order: "asc" | "desc";
  /** The first instant. */
  readonly fromMs?: number | undefined;
  /** The last instant. */
  readonly toMs?: number | undefined;
  /** Only behind this place. */
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

  /** Whether nothing is left to be read. */
  get isExhausted(): boolean {
    return this.#isExhausted;
  }

  /** The last place that was looked at. */
  get frontier(): ListPlace | undefined {
    return this.#frontier;
  }

  /** Goes on behind the head. */
  shift(): void {
    this.#headIndex++;
  }

  /** Looks at up to `count` rows more and tells how many there were. */
  read(count: number): number {
    const rows = this.#behind(count);
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

  /** Looks at up to `count` rows more and tells how many of them fit. */
  skip(count: number): { readonly looked: number; readonly fitting: number } {
    const looked = this.read(count);
    const fitting = this.#found.length;
    this.#found = [];
    return { looked, fitting };
  }

  /** How many rows there are, of a stream without conditions; `most` at most. */
  count(most: number): number {
    const { sql, values } = this.#selection([]);
    return this.#reader.number(
      `SELECT count(*) FROM (SELECT 1 ${sql} LIMIT ?)`,
      ...values,
      most,
    ) ?? 0;
  }

  #behind(count: number): readonly LookedAt[] {
    const { order } = this.#range;
    const after = this.#frontier;
    const { column } = this.#source;
    const behind = order === "asc" ? ">" : "<";
    if (after === undefined) return this.#select([], count);
    // The rows of the same instant are asked for apart: only then the index
    // leads to the place, however many there are.
    const tied = this.#select([
      { sql: `${column} = ? AND n ${behind} ?`, values: [after.at, after.n] },
    ], count);
    if (tied.length === count) return tied;
    return tied.concat(
      this.#select(
        [{ sql: `${column} ${behind} ?`, values: [after.at] }],
        count - tied.length,
      ),
    );
  }

  #select(bounds: readonly Condition[], limit: number): LookedAt[] {
    const { column, conditions } = this.#source;
    const { order } = this.#range;
    const fits = join(conditions);
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
    const { index, prefix, column } = this.#source;
    const { fromMs, toMs } = this.#range;
    const all = [prefix, ...bounds];
    if (fromMs !== undefined) {
      all.push({ sql: `${column} >= ?`, values: [fromMs] });
    }
    if (toMs !== undefined) {
      all.push({ sql: `${column} <= ?`, values: [toMs] });
    }
    const { sql, values } = join(all);
    return { sql: `FROM tasks INDEXED BY ${index} WHERE ${sql}`, values };
  }
}

/** A row that was looked at. */
interface LookedAt extends ListPlace {
  /** Whether it satisfies the conditions. */
  readonly fits: boolean;
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

function join(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}
