/**
 * Vectors as the index keeps them, without zeros where most numbers are zero; those of one
 * namespace, as a port, for with numbers in most columns they are kept in other ways than
 * with few; and who may be among the closest while they are looked through, with the bar
 * that the others have to reach.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";

/** A vector as it is kept. */
export interface PackedVector {
  /** Where the numbers stand; all places in their order when absent. */
  readonly columns: Uint16Array | undefined;
  /** The numbers. */
  readonly values: Float32Array;
  /** The vector's Euclidean length; finite when all of the numbers are. */
  readonly length: number;
}

/** A place costs half of what a number does: less than this share pays. */
const SPARSE_SHARE = 1 / 2;
const MAX_COLUMNS = 65_536;

/** Copies a vector, without its zeros where that saves memory. */
export function packVector(vector: Float32Array): PackedVector {
  let count = 0;
  let squares = 0;
  for (let column = 0; column < vector.length; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    count++;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  if (
    count > vector.length * SPARSE_SHARE || vector.length > MAX_COLUMNS
  ) {
    return { columns: undefined, values: vector.slice(), length };
  }
  const columns = new Uint16Array(count);
  const values = new Float32Array(count);
  let at = 0;
  for (let column = 0; at < count; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    columns[at] = column;
    values[at++] = value;
  }
  return { columns, values, length };
}

/**
 * The cosine of the angle between two vectors, from -1 to 1; 0 when one of them
 * has no length. The first one has a number for each column. Sums in 64 bits, in the
 * order of the columns.
 */
export function cosine(
  { values, length }: Pick<PackedVector, "values" | "length">,
  query: Pick<RowQuery, "vector" | "length">,
): number {
  if (length === 0 || query.length === 0) return 0;
  let sum = 0;
  for (let column = 0; column < values.length; column++) {
    sum += (values[column] ?? 0) * (query.vector[column] ?? 0);
  }
  return Math.max(-1, Math.min(1, sum / (length * query.length)));
}

/** The Euclidean length of a vector. */
export function euclideanLength(vector: Float32Array): number {
  let squares = 0;
  for (let column = 0; column < vector.length; column++) {
    const value = vector[column] ?? 0;
    squares += value * value;
  }
  return Math.sqrt(squares);
}

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

/** One that may be among the closest. */
interface Candidate<Entry> {
  /** The memory. */
  readonly entry: Entry;
  /** The least similarity that it can have. */
  readonly least: number;
  /** The greatest one; where both are the same, it is its similarity. */
  readonly most: number;
}

/** More are looked through for those that are out by now. */
const MAX_CANDIDATES = 4_096;

/** Candidates of one search; who cannot reach the bar is not among them. */
export class Candidates<Entry> {
  readonly #bars: LargestBounds<Entry>;
  #list: Candidate<Entry>[] = [];

  /** None yet; `limit` are wanted, at least 1. */
  constructor(limit: number) {
    this.#bars = new LargestBounds(limit);
  }

  /** What similarity others have to be able to have. */
  get bar(): number {
    return this.#bars.least;
  }

  /** Takes one in whose similarity is between two bounds. */
  offer(
    entry: Entry,
    { least, most }: { readonly least: number; readonly most: number },
  ): void {
    this.#bars.offer(entry, least);
    this.#list.push({ entry, least, most });
    if (this.#list.length < MAX_CANDIDATES) return;
    const kept = this.#list.filter((one) => one.most >= this.bar);
    // Many may be as close as the bar: then there is nothing to leave out.
    this.#list = kept.length > MAX_CANDIDATES / 2 ? this.#list : kept;
  }

  /** The most promising first, and none that cannot reach the bar. */
  sorted(): readonly Candidate<Entry>[] {
    return this.#list.filter(({ most }) => most >= this.bar)
      .sort((one, other) => other.most - one.most);
  }
}

/** The largest bounds that have been offered: a heap, the least of them first. */
export class LargestBounds<Entry> {
  readonly #bounds: Float64Array;
  readonly #entries: (Entry | undefined)[] = [];
  #size = 0;

  /** Keeps so many, at least 1. */
  constructor(limit: number) {
    this.#bounds = new Float64Array(limit);
  }

  /** The least of them; `-Infinity` while there are fewer than are wanted. */
  get least(): number {
    return this.#size < this.#bounds.length ? -Infinity : this.#bounds[0] ?? 0;
  }

  /** Takes in what an entry has for sure; what it had before stays. */
  offer(entry: Entry, bound: number): void {
    if (!(bound > this.least) || this.#entries.includes(entry)) return;
    if (this.#size === this.#bounds.length) return this.#sink(entry, bound);
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((this.#bounds[parent] ?? 0) <= bound) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(entry, { at, bound });
  }

  #sink(entry: Entry, bound: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      const right = child + 1;
      if (
        right < this.#size &&
        (this.#bounds[right] ?? 0) < (this.#bounds[child] ?? 0)
      ) child = right;
      if ((this.#bounds[child] ?? 0) >= bound) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(entry, { at, bound });
  }

  #move(from: number, to: number): void {
    this.#bounds[to] = this.#bounds[from] ?? 0;
    this.#entries[to] = this.#entries[from];
  }

  #put(
    entry: Entry,
    { at, bound }: { readonly at: number; readonly bound: number },
  ): void {
    this.#bounds[at] = bound;
    this.#entries[at] = entry;
  }
}
