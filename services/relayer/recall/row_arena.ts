/**
 * The coarse form of all vectors: one signed byte for each number, in one memory
 * that a WebAssembly loop scans. Rows are of one size, so a free one fits any
 * vector and nothing is ever moved.
 *
 * @module
 */

import { type CoarseQuery, coarseQuery } from "./coarse_vector.ts";
import { compileRowScan, DENSE_STEP, type RowScan } from "./scan_module.ts";

const PAGE_BYTES = 65_536;
/** 4 GiB: what addresses of 32 bits reach. */
const MAX_PAGES = 65_536;
/** Rows that one call of the loop takes. */
const BATCH_ROWS = 8_192;
/** Bytes of a pair of the sparse query. */
const PAIR_BYTES = 8;
/**
 * The sparse loop takes a column at a time; up to this share of the columns that
 * is faster than all of them sixteen at a time.
 */
const SPARSE_SHARE = 1 / 16;

/** Rows of signed bytes, and the sums of products over many of them. */
export class RowArena {
  readonly #width: number;
  readonly #strideBytes: number;
  readonly #memory: WebAssembly.Memory;
  readonly #scan: RowScan;
  readonly #addressesAt: number;
  readonly #sumsAt: number;
  readonly #rowsAt: number;
  readonly #free: number[] = [];
  #used = 0;
  #bytes: Int8Array;

  /** An arena for vectors of `width` numbers. */
  constructor(width: number) {
    this.#width = width;
    this.#strideBytes = Math.ceil(width / DENSE_STEP) * DENSE_STEP;
    this.#addressesAt = PAIR_BYTES * this.#strideBytes;
    this.#sumsAt = this.#addressesAt + 4 * BATCH_ROWS;
    this.#rowsAt = this.#sumsAt + 4 * BATCH_ROWS;
    this.#memory = new WebAssembly.Memory({
      initial: Math.ceil(this.#rowsAt / PAGE_BYTES) + 1,
      maximum: MAX_PAGES,
    });
    this.#scan = compileRowScan(this.#memory);
    this.#bytes = new Int8Array(this.#memory.buffer);
  }

  /**
   * Keeps a row.
   *
   * @returns its place
   * @throws {RangeError} when the memory is full
   */
  add(row: Int8Array): number {
    const place = this.#free.pop() ?? this.#newPlace();
    this.#bytes.set(row, this.#rowsAt + place * this.#strideBytes);
    return place;
  }

  /** Gives the place of a row to others, and forgets what was there. */
  remove(place: number): void {
    const at = this.#rowsAt + place * this.#strideBytes;
    this.#bytes.fill(0, at, at + this.#strideBytes);
    this.#free.push(place);
  }

  /**
   * Writes the sum of products of the query and each of the first `count` of
   * `places` into `sums`.
   *
   * @returns the query as it was compared, for the bound of the error
   */
  scan(
    query: Float32Array,
    options: {
      readonly places: Uint32Array;
      readonly count: number;
      readonly sums: Int32Array;
    },
  ): CoarseQuery {
    const { places, count, sums } = options;
    const coarse = coarseQuery(query);
    const { buffer } = this.#memory;
    const isSparse = coarse.columns.length <= this.#width * SPARSE_SHARE;
    if (coarse.columns.length === 0) {
      sums.fill(0, 0, count);
      return coarse;
    }
    const length = isSparse
      ? this.#writePairs(coarse)
      : this.#writeNumbers(coarse);
    const run = isSparse ? this.#scan.sparse : this.#scan.dense;
    const addresses = new Uint32Array(buffer, this.#addressesAt, BATCH_ROWS);
    const batchSums = new Int32Array(buffer, this.#sumsAt, BATCH_ROWS);
    for (let from = 0; from < count; from += BATCH_ROWS) {
      const rows = Math.min(BATCH_ROWS, count - from);
      for (let index = 0; index < rows; index++) {
        const place = places[from + index] ?? 0;
        addresses[index] = this.#rowsAt + place * this.#strideBytes;
      }
      run(this.#addressesAt, rows, 0, this.#sumsAt, length);
      sums.set(batchSums.subarray(0, rows), from);
    }
    return coarse;
  }

  #writePairs({ columns, values }: CoarseQuery): number {
    const pairs = new Int32Array(this.#memory.buffer, 0, 2 * columns.length);
    for (let index = 0; index < columns.length; index++) {
      pairs[2 * index] = columns[index] ?? 0;
      pairs[2 * index + 1] = values[index] ?? 0;
    }
    return columns.length * PAIR_BYTES;
  }

  #writeNumbers({ columns, values }: CoarseQuery): number {
    const numbers = new Int16Array(this.#memory.buffer, 0, this.#strideBytes);
    numbers.fill(0);
    for (let index = 0; index < columns.length; index++) {
      numbers[columns[index] ?? 0] = values[index] ?? 0;
    }
    return this.#strideBytes;
  }

  #newPlace(): number {
    const endAt = this.#rowsAt + (this.#used + 1) * this.#strideBytes;
    if (endAt > this.#bytes.length) this.#grow(endAt);
    return this.#used++;
  }

  /** Doubles, as far as there is something left to double. */
  #grow(endAt: number): void {
    const pages = this.#bytes.length / PAGE_BYTES;
    const wanted = Math.ceil(endAt / PAGE_BYTES);
    if (wanted > MAX_PAGES) {
      throw new RangeError(
        `Cannot add a vector: the index is full with ${this.#used} of them`,
      );
    }
    this.#memory.grow(Math.min(2 * pages, MAX_PAGES) - pages);
    this.#bytes = new Int8Array(this.#memory.buffer);
  }
}
