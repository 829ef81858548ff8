/**
 * How the index keeps vectors: without zeros where most numbers are zero. The
 * vectors of a namespace are behind the port {@linkcode VectorRows}, since
 * those with numbers in most columns are kept in another way than those with
 * few. A search collects candidates, with the bar that the others have to
 * reach.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";

/** A vector as the index keeps it. */
export interface PackedVector {
  /** The columns of the numbers; undefined when each column has a number. */
  readonly columns: Uint16Array | undefined;
  /** The numbers. */
  readonly values: Float32Array;
  /** The vector's Euclidean length; finite when all of the numbers are. */
  readonly length: number;
}

/**
 * Vectors are kept without zeros up to this share of numbers that are not zero:
 * a column takes half the bytes of a number, so that saves memory.
 */
const SPARSE_SHARE = 1 / 2;
const MAX_COLUMNS = 65_536;

/** Copies a vector, without its zeros where that saves memory. */
export function packVector(vector: Float32Array): PackedVector {
  const { length: width } = vector;
  const most = width > MAX_COLUMNS ? 0 : Math.floor(width * SPARSE_SHARE);
  const columns = new Uint16Array(most);
  let count = 0;
  let squares = 0;
  const pairs = pairsOf(vector);
  // Most numbers of most vectors are zeros, which go by two at a time.
  for (let pair = 0; pair < pairs.length; pair++) {
    if (pairs[pair] === 0) continue;
    for (let column = 2 * pair; column < 2 * pair + 2; column++) {
      const value = vector[column]!;
      if (value === 0) continue;
      // Beyond `most` nothing is written.
      columns[count++] = column;
      squares += value * value;
    }
  }
  const last = 2 * pairs.length < width ? vector[width - 1]! : 0;
  if (last !== 0) {
    columns[count++] = width - 1;
    squares += last * last;
  }
  const length = Math.sqrt(squares);
  if (count > most) {
    return { columns: undefined, values: vector.slice(), length };
  }
  const values = new Float32Array(count);
  for (let at = 0; at < count; at++) values[at] = vector[columns[at]!]!;
  return { columns: columns.slice(0, count), values, length };
}

/** The numbers of a vector by twos: 0 stands for two zeros. */
function pairsOf(vector: Float32Array): Float64Array {
  const isAligned = vector.byteOffset % Float64Array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, length } = isAligned ? vector : vector.slice();
  return new Float64Array(buffer, byteOffset, length >> 1);
}

/**
 * The cosine of the angle between two vectors, from -1 to 1; 0 when one of them
 * has no length. The first one has a number for each column. Sums in 64 bits,
 * in the order of the columns.
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

/** The entry that a vector belongs to, which knows the vector's row. */
export interface RowOwner {
  /** The number of the row, which changes while other rows come and go. */
  row: number;
}

/** A query vector, of any length but 0. */
export interface RowQuery {
  /** Its numbers. */
  readonly vector: Float32Array;
  /** Its Euclidean length. */
  readonly length: number;
  /** The columns in which it is not 0, in their order. */
  readonly columns: readonly number[];
  /**
   * The cosines of all rows of a part of the index, by that part: some of them
   * are asked for again one by one later in the same search. They are freed
   * with the query.
   */
  readonly cosines: Map<object, Float64Array>;
}

/** Makes a query of a vector. */
export function createRowQuery(vector: Float32Array): RowQuery {
  const columns: number[] = [];
  for (let column = 0; column < vector.length; column++) {
    if (vector[column] !== 0) columns.push(column);
  }
  return {
    ...{ vector, length: euclideanLength(vector), columns },
    cosines: new Map(),
  };
}

/** A search of rows. */
export interface RowSearch<Entry> {
  /** The vector that rows have to be close to. */
  readonly query: RowQuery;
  /**
   * Which entries count.
   *
   * @default all
   */
  readonly accepts?: ((entry: Entry) => boolean) | undefined;
  /** Collects the entries that may be among the closest. */
  readonly candidates: Candidates<Entry>;
}

/** Keeps vectors and compares queries with them. */
export interface VectorRows<Entry extends RowOwner> {
  /** How many vectors there are. */
  readonly size: number;
  /** About how many bytes the vectors take. */
  readonly bytes: number;
  /**
   * Keeps a vector, and sets the row of its entry.
   *
   * @throws {RangeError} when there is no more room
   */
  add(entry: Entry, packed: PackedVector): void;
  /** Removes the vector of an entry. */
  remove(entry: Entry): void;
  /**
   * The steps that remove all vectors; no other change may come between them.
   */
  clearSteps(): Steps<void>;
  /** The exact cosine of an entry's vector and a query. */
  cosine(entry: Entry, query: RowQuery): number;
  /**
   * The steps that offer all entries which may be among the closest. An entry
   * that is added or removed between two steps may be offered or not; all
   * others are.
   */
  collectSteps(search: RowSearch<Entry>): Steps<void>;
  /** A sample of at most `count` entries, from rows that are far apart. */
  sample(count: number): readonly Entry[];
}

/** An entry that may be among the closest. */
interface Candidate<Entry> {
  /** The entry, which is a memory. */
  readonly entry: Entry;
  /** The least similarity that the entry can have. */
  readonly least: number;
  /**
   * The greatest similarity that the entry can have; equal to `least` where the
   * similarity is known exactly.
   */
  readonly most: number;
}

/**
 * From this many candidates on, those that no longer reach the bar are removed.
 */
const FIRST_FULL = 4_096;

/** The candidates of one search, without those that cannot reach the bar. */
export class Candidates<Entry> {
  readonly #bars: LargestBounds<Entry>;
  #list: Candidate<Entry>[] = [];
  /** How many candidates there are when the list is looked through next. */
  #full = FIRST_FULL;

  /** No candidates yet; the search wants `limit` entries, at least 1. */
  constructor(limit: number) {
    this.#bars = new LargestBounds(limit);
  }

  /** The similarity that further entries must be able to have. */
  get bar(): number {
    return this.#bars.bar;
  }

  /** Adds an entry whose similarity is between two bounds. */
  offer(
    entry: Entry,
    { least, most }: { readonly least: number; readonly most: number },
  ): void {
    this.#bars.offer(entry, least);
    this.#list.push({ entry, least, most });
    if (this.#list.length < this.#full) return;
    this.#list = this.#list.filter((one) => one.most >= this.bar);
    // Many candidates may be as close as the bar and stay. The list is looked
    // through again only when it has doubled: else the time would grow with the
    // square of their number.
    this.#full = Math.max(FIRST_FULL, 2 * this.#list.length);
  }

  /** The candidates that can reach the bar, the most promising first. */
  sorted(): readonly Candidate<Entry>[] {
    return this.#list.filter(({ most }) => most >= this.bar)
      .sort((one, other) => other.most - one.most);
  }
}

/**
 * The largest bounds that have been offered: a heap, the least of them first.
 */
export class LargestBounds<Entry> {
  readonly #bounds: Float64Array;
  readonly #entries: (Entry | undefined)[] = [];
  #size = 0;

  /** Keeps the `limit` largest bounds, at least 1. */
  constructor(limit: number) {
    this.#bounds = new Float64Array(limit);
  }

  /**
   * The least bound that is kept; `-Infinity` while there are fewer than
   * `limit`.
   */
  get least(): number {
    return this.#size < this.#bounds.length ? -Infinity : this.#bounds[0] ?? 0;
  }

  /**
   * The similarity that an entry must be able to have to be among the closest.
   * It is a little less than the least bound: similarities that differ in their
   * last bits make the same distance, and then the ids decide.
   */
  get bar(): number {
    return this.least - 2 * Number.EPSILON;
  }

  /**
   * Adds the least similarity of an entry; an entry that was offered before
   * keeps its earlier bound.
   */
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
