/**
 * Vectors that have numbers in most columns: side by side as signed bytes,
 * which a WebAssembly loop scans, and as they came, for exact distances. The
 * bytes tell, with the bound of their error, which cannot be among the closest;
 * so nothing is lost.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import type { RowArena, WholeQuery } from "./row_arena.ts";
import {
  cosine,
  euclideanLength,
  type PackedVector,
  type RowOwner,
  type RowQuery,
  type RowSearch,
  type VectorRows,
} from "./vector_rows.ts";

/** A stored vector in signed bytes. */
interface CoarseRow {
  /** Its numbers, from -127 to 127. */
  readonly bytes: Int8Array;
  /** What a byte of 1 stands for, in a vector of length 1. */
  readonly factor: number;
  /** How far what the bytes stand for is from the vector of length 1. */
  readonly error: number;
}

/** A query in whole numbers. */
interface CoarseQuery extends WholeQuery {
  /** What a number of 1 stands for, in a vector of length 1. */
  readonly factor: number;
  /** How far what the numbers stand for is from the vector of length 1. */
  readonly error: number;
}

const MAX_BYTE = 127;
const MAX_SUM = 2_147_483_647;
const MAX_NUMBER = 32_767;

const FIRST_CAPACITY = 8;
/**
 * Rows of a step; 2,048 vectors of 1,536 numbers take a fifth of a millisecond.
 */
const ROWS_PER_STEP = 2_048;
/** Added to bounds: more than what sums in 64 bits lose by rounding. */
const ROUNDING = 1e-9;
/** What a row takes beside its numbers. */
const ROW_BYTES = 8 + 4 + 8 + 8 + 200;

/**
 * Rows of dense vectors without gaps: the last row takes the place of a removed
 * one.
 */
export class DenseRows<Entry extends RowOwner> implements VectorRows<Entry> {
  readonly #arena: RowArena;
  readonly #entries: Entry[] = [];
  readonly #packed: PackedVector[] = [];
  #places = new Uint32Array(FIRST_CAPACITY);
  #factors = new Float64Array(FIRST_CAPACITY);
  #errors = new Float64Array(FIRST_CAPACITY);

  /** An object without rows, which will keep the bytes of rows in `arena`. */
  constructor(arena: RowArena) {
    this.#arena = arena;
  }

  /** How many rows there are. */
  get size(): number {
    return this.#entries.length;
  }

  /** About how many bytes the rows take. */
  get bytes(): number {
    const { rowBytes, width } = this.#arena;
    return this.size * (ROW_BYTES + rowBytes + 4 * width);
  }

  /** Keeps a vector at the end. */
  add(entry: Entry, packed: PackedVector): void {
    const coarse = coarseRow(packed);
    const place = this.#arena.add(coarse.bytes);
    const row = this.#entries.push(entry) - 1;
    this.#packed.push(packed);
    if (row === this.#places.length) this.#double();
    this.#places[row] = place;
    this.#factors[row] = coarse.factor;
    this.#errors[row] = coarse.error;
    entry.row = row;
  }

  /** Removes a vector; the last one takes its place. */
  remove({ row }: Entry): void {
    this.#arena.remove(this.#places[row] ?? 0);
    const last = this.#entries.pop();
    const packed = this.#packed.pop();
    const from = this.#entries.length;
    if (last === undefined || packed === undefined || from === row) return;
    this.#entries[row] = last;
    this.#packed[row] = packed;
    this.#places[row] = this.#places[from] ?? 0;
    this.#factors[row] = this.#factors[from] ?? 0;
    this.#errors[row] = this.#errors[from] ?? 0;
    last.row = row;
  }

  /** The steps that remove all rows. */
  *clearSteps(): Steps<void> {
    for (let row = 0; row < this.#entries.length; row++) {
      this.#arena.remove(this.#places[row] ?? 0);
      if (row % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
    }
    this.#entries.length = 0;
    this.#packed.length = 0;
  }

  /** The exact cosine of an entry's vector and a query. */
  cosine({ row }: Entry, query: RowQuery): number {
    const packed = this.#packed[row];
    return packed === undefined ? 0 : cosine(packed, query);
  }

  /**
   * Goes from the last row to the first: when a row is removed between two
   * steps, the last row takes its place, so no row is missed.
   *
   * With r and q the vectors of length 1 and r' and q' their coarse forms,
   * |rq - r'q'| is at most |r - r'| + (1 + |r - r'|)·|q - q'|.
   */
  *collectSteps(
    { query, accepts, candidates }: RowSearch<Entry>,
  ): Steps<void> {
    if (this.size === 0) return;
    const coarse = coarseQuery(query.vector);
    for (let to = this.#entries.length; to > 0;) {
      const from = Math.max(0, to - ROWS_PER_STEP);
      const places = this.#places.subarray(from, to);
      const sums = new Int32Array(to - from);
      this.#arena.scan(coarse, { places, count: sums.length, sums });
      for (let index = 0; index < sums.length; index++) {
        const row = from + index;
        const error = this.#errors[row] ?? 0;
        const bound = error + (1 + error) * coarse.error + ROUNDING;
        const score = (sums[index] ?? 0) * (this.#factors[row] ?? 0) *
          coarse.factor;
        const most = score + bound;
        if (most < candidates.bar) continue;
        const entry = this.#entries[row];
        if (entry === undefined || accepts?.(entry) === false) continue;
        candidates.offer(entry, { least: score - bound, most });
      }
      if (from > 0) yield;
      to = Math.min(from, this.#entries.length);
    }
  }

  /** A sample of at most `count` entries, from rows that are far apart. */
  sample(count: number): readonly Entry[] {
    const step = Math.max(1, this.#entries.length / count);
    const sampled: Entry[] = [];
    for (let at = 0; at < this.#entries.length; at += step) {
      const entry = this.#entries[Math.floor(at)];
      if (entry !== undefined) sampled.push(entry);
    }
    return sampled;
  }

  #double(): void {
    const capacity = 2 * this.#places.length;
    const places = new Uint32Array(capacity);
    const factors = new Float64Array(capacity);
    const errors = new Float64Array(capacity);
    places.set(this.#places);
    factors.set(this.#factors);
    errors.set(this.#errors);
    this.#places = places;
    this.#factors = factors;
    this.#errors = errors;
  }
}

/** A vector in signed bytes. */
function coarseRow(
  { values, length }: PackedVector,
): CoarseRow {
  const step = largest(values) / MAX_BYTE;
  const bytes = new Int8Array(values.length);
  if (step === 0) return { bytes, factor: 0, error: 0 };
  let squares = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0;
    if (value === 0) continue;
    // Rounds to the nearest as Math.round does except for ties, and much
    // faster.
    const byte = (value / step + (value < 0 ? -0.5 : 0.5)) | 0;
    bytes[at] = byte;
    squares += (value - byte * step) ** 2;
  }
  return {
    bytes,
    factor: step / length,
    error: Math.sqrt(squares) / length,
  };
}

/**
 * A query in whole numbers, as large as they may be for the sum of products
 * with any row to fit 32 bits.
 */
export function coarseQuery(vector: Float32Array): CoarseQuery {
  const length = euclideanLength(vector);
  const fitting = Math.floor(MAX_SUM / (MAX_BYTE * vector.length));
  const step = largest(vector) / Math.min(fitting, MAX_NUMBER);
  const columns: number[] = [];
  const values: number[] = [];
  let squares = 0;
  for (let column = 0; step > 0 && column < vector.length; column++) {
    const value = vector[column] ?? 0;
    if (value === 0) continue;
    const whole = Math.round(value / step);
    squares += (value - whole * step) ** 2;
    if (whole === 0) continue;
    columns.push(column);
    values.push(whole);
  }
  return {
    columns: Uint32Array.from(columns),
    values: Int32Array.from(values),
    factor: step === 0 ? 0 : step / length,
    error: step === 0 ? 0 : Math.sqrt(squares) / length,
  };
}

function largest(vector: Float32Array): number {
  let most = 0;
  for (let column = 0; column < vector.length; column++) {
    const size = Math.abs(vector[column] ?? 0);
    if (size > most) most = size;
  }
  return most;
}
