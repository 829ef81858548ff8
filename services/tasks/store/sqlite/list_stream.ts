/**
 * A part of a list that one index holds in the list's order.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
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
    const places = this.#places(count);
    const last = places.at(-1);
    if (last !== undefined) this.#frontier = last;
    this.#isExhausted = places.length < count;
    this.#found = [
      ...this.#found.slice(this.#headIndex),
      ...this.#fitting(places),
    ];
    this.#headIndex = 0;
    return places.length;
  }

  #places(count: number): ListPlace[] {
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

  #select(conditions: readonly Condition[], limit: number): ListPlace[] {
    const { index, prefix, column } = this.#source;
    const { order, fromMs, toMs } = this.#range;
    const all = [prefix, ...conditions];
    if (fromMs !== undefined) {
      all.push({ sql: `${column} >= ?`, values: [fromMs] });
    }
    if (toMs !== undefined) {
      all.push({ sql: `${column} <= ?`, values: [toMs] });
    }
    const { sql, values } = join(all);
    return this.#reader.rows(
      `SELECT ${column} AS at, n FROM tasks INDEXED BY ${index} ` +
        `WHERE ${sql} ORDER BY ${column} ${order}, n ${order} LIMIT ?`,
      ...values,
      limit,
    ).map(placeOf);
  }

  #fitting(places: readonly ListPlace[]): readonly ListPlace[] {
    const { conditions } = this.#source;
    if (conditions.length === 0 || places.length === 0) return places;
    const { sql, values } = join(conditions);
    const fitting = new Set(
      this.#reader.rows(
        "SELECT n FROM tasks WHERE n IN (SELECT value FROM json_each(?)) " +
          `AND ${sql}`,
        JSON.stringify(places.map(({ n }) => n)),
        ...values,
      ).map((row) => numberOf(row, "n")),
    );
    return places.filter(({ n }) => fitting.has(n));
  }
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

function placeOf(row: Row): ListPlace {
  return { at: numberOf(row, "at"), n: numberOf(row, "n") };
}

function join(
  conditions: readonly Condition[],
): { readonly sql: string; readonly values: readonly SQLInputValue[] } {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}
