/**
 * The vectors of one namespace, as a port: with numbers in most columns they are kept in
 * other ways than with few.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import type { Candidates } from "./nearest.ts";
import { euclideanLength, type PackedVector } from "./vectors.ts";

/** What a vector belongs to, with where it is. */
export interface RowOwner {
  /** The number of its row, which changes while others come and go. */
  row: number;
}

/** A query of any length but 0. */
export interface RowQuery {
  /** Its numbers. */
  readonly vector: Float32Array;
  /** Its Euclidean length. */
  readonly length: number;
  /** The columns in which it is not 0, in their order. */
  readonly columns: readonly number[];
  /**
   * What parts of the index have computed for all of their rows: some of these are asked
   * for one by one later in the same search. It goes with the query.
   */
  readonly cosines: Map<object, Float64Array>;
}

/** A query of a vector. */
export function rowQueryOf(vector: Float32Array): RowQuery {
  const columns: number[] = [];
  for (let column = 0; column < vector.length; column++) {
    if (vector[column] !== 0) columns.push(column);
  }
  return {
    ...{ vector, length: euclideanLength(vector), columns },
    cosines: new Map(),
  };
}

/** How rows are looked through. */
export interface RowSearch<Entry> {
  /** What to be close to. */
  readonly query: RowQuery;
  /**
   * Which entries count.
   *
   * @default all
   */
  readonly accepts?: ((entry: Entry) => boolean) | undefined;
  /** Takes in who may be among the closest. */
  readonly candidates: Candidates<Entry>;
}

/** Keeps vectors and compares queries with them. */
export interface VectorRows<Entry extends RowOwner> {
  /** How many there are. */
  readonly size: number;
  /** About how many bytes they take. */
  readonly bytes: number;
  /**
   * Keeps a vector, and tells its entry where.
   *
   * @throws {RangeError} when there is no more room
   */
  add(entry: Entry, packed: PackedVector): void;
  /** Removes the vector of an entry. */
  remove(entry: Entry): void;
  /** The steps to nothing; no other change may come between them. */
  clearSteps(): Steps<void>;
  /** The exact cosine of an entry's vector and a query. */
  cosine(entry: Entry, query: RowQuery): number;
  /**
   * The steps in which all are offered that may be among the closest. What comes or
   * goes between two steps may be among them or not; all others are.
   */
  collectSteps(search: RowSearch<Entry>): Steps<void>;
  /** At most `count` entries that are far from each other. */
  sample(count: number): readonly Entry[];
}
