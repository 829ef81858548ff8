/**
 * The coarse form of all vectors: one signed byte for each number, in one
 * memory that a WebAssembly loop scans. Rows are of one size, so a free one
 * fits any vector and nothing is ever moved.
 *
 * @module
 */

/** A query in whole numbers; only those that are not 0. */
export interface WholeQuery {
  /** The columns of the numbers. */
  readonly columns: Uint32Array;
  /** The numbers. */
  readonly values: Int32Array;
}

/** A function of the module; all arguments are addresses and counts. */
type ScanFunction = (
  ...args: [
    rows: number,
    count: number,
    query: number,
    out: number,
    length: number,
  ]
) => void;

/** The two functions of the module; see {@linkcode compileRowScan}. */
interface RowScan {
  /** Sums over all columns. */
  readonly dense: ScanFunction;
  /** Sums over the columns that the query names. */
  readonly sparse: ScanFunction;
}

/** Columns that one turn of the dense loop takes. */
const DENSE_STEP = 32;

/**
 * Compiles the inner loop of the search over a memory of the caller's, as a
 * WebAssembly module that is put together here byte by byte. JavaScript has no
 * SIMD, and takes seven times as long for the same scan.
 *
 * The module has two functions of one shape,
 * `(rows, count, query, out, length)`: `rows` is the address of `count`
 * addresses of rows of signed bytes, and at `out` a 32-bit sum of products is
 * written for each of them.
 *
 * - `dense`: the query is 16-bit numbers, `length` of them, a multiple of 32.
 * - `sparse`: the query is pairs of 32-bit numbers, a column and its value, and
 *   `length` is their size in bytes, above 0.
 *
 * See the WebAssembly core specification, sections 5.4 and 5.5.
 */
function compileRowScan(memory: WebAssembly.Memory): RowScan {
  const module = new WebAssembly.Module(moduleBytes());
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  const { dense, sparse } = instance.exports;
  if (!isFunction(dense) || !isFunction(sparse)) {
    throw new TypeError("Cannot compile the scan: a function is missing");
  }
  return { dense, sparse };
}

type Code = readonly number[];

const I32 = 0x7f;
const V128 = 0x7b;
const NO_RESULT = 0x40;

const BLOCK: Code = [0x02, NO_RESULT];
const LOOP: Code = [0x03, NO_RESULT];
const END: Code = [0x0b];
const I32_EQZ: Code = [0x45];
const I32_LESS_UNSIGNED: Code = [0x49];
const I32_ADD: Code = [0x6a];
const I32_SUB: Code = [0x6b];
const I32_MUL: Code = [0x6c];
const I32_STORE: Code = [0x36, 2, 0];
const I32X4_ADD: Code = [0xfd, 0xae, 0x01];
const I32X4_DOT_I16X8: Code = [0xfd, 0xba, 0x01];
const V128_ZERO: Code = [0xfd, 0x0c, ...new Array<number>(16).fill(0)];

const ROWS = 0;
const COUNT = 1;
const QUERY = 2;
const OUT = 3;
const LENGTH = 4;
const ROW = 5;
const STOP = 6;
const CURSOR = 7;
const SUM = 8;
const SUMS: Code = [SUM, 9, 10, 11];

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const type = [0x60, ...list([[I32], [I32], [I32], [I32], [I32]]), 0];
  const memory = [...name("env"), ...name("memory"), 2, 0, 1];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [type]),
    ...section(2, [memory]),
    ...section(3, [[0], [0]]),
    ...section(7, [[...name("dense"), 0, 0], [...name("sparse"), 0, 1]]),
    ...section(10, [sized(denseCode()), sized(sparseCode())]),
  ]);
}

function denseCode(): Code {
  return [
    ...list([[3, I32], [SUMS.length, V128]]),
    ...eachRow([
      ...get(ROW),
      ...get(LENGTH),
      ...I32_ADD,
      ...set(STOP),
      ...get(QUERY),
      ...set(CURSOR),
      ...SUMS.flatMap((sum) => [...V128_ZERO, ...set(sum)]),
      ...LOOP,
      ...SUMS.flatMap(denseStep),
      ...advance(CURSOR, 2 * DENSE_STEP),
      ...advance(ROW, DENSE_STEP),
      ...repeatWhileBelow(ROW, STOP),
      ...END,
      ...get(OUT),
      ...get(SUM),
      ...SUMS.slice(1).flatMap((sum) => [...get(sum), ...I32X4_ADD]),
      ...set(SUM),
      ...lane(0),
      ...[1, 2, 3].flatMap((index) => [...lane(index), ...I32_ADD]),
      ...I32_STORE,
    ]),
  ];
}

/** Adds eight columns to one of the sums. */
function denseStep(sum: number, index: number): Code {
  const load8x8 = [0xfd, 0x01, 3, ...unsigned(8 * index)];
  const load = [0xfd, 0x00, 4, ...unsigned(16 * index)];
  return [
    ...[...get(sum), ...get(ROW), ...load8x8, ...get(CURSOR), ...load],
    ...[...I32X4_DOT_I16X8, ...I32X4_ADD, ...set(sum)],
  ];
}

function sparseCode(): Code {
  const loadByte = [0x2c, 0, 0];
  return [
    ...list([[4, I32]]),
    ...eachRow([
      ...get(QUERY),
      ...get(LENGTH),
      ...I32_ADD,
      ...set(STOP),
      ...get(QUERY),
      ...set(CURSOR),
      ...constant(0),
      ...set(SUM),
      ...LOOP,
      ...[...get(ROW), ...get(CURSOR), ...loadI32(0), ...I32_ADD, ...loadByte],
      ...[...get(CURSOR), ...loadI32(4), ...I32_MUL],
      ...[...get(SUM), ...I32_ADD, ...set(SUM)],
      ...advance(CURSOR, 8),
      ...repeatWhileBelow(CURSOR, STOP),
      ...END,
      ...get(OUT),
      ...get(SUM),
      ...I32_STORE,
    ]),
  ];
}

/** Runs `code` for each row, with its address in ROW. */
function eachRow(code: Code): Code {
  return [
    ...[...BLOCK, ...LOOP],
    ...[...get(COUNT), ...I32_EQZ, 0x0d, 1],
    ...[...get(ROWS), ...loadI32(0), ...set(ROW)],
    ...code,
    ...[...advance(ROWS, 4), ...advance(OUT, 4)],
    ...[...get(COUNT), ...constant(1), ...I32_SUB, ...set(COUNT)],
    ...[0x0c, 0],
    ...[...END, ...END, ...END],
  ];
}

function repeatWhileBelow(local: number, bound: number): Code {
  return [...get(local), ...get(bound), ...I32_LESS_UNSIGNED, 0x0d, 0];
}

function advance(local: number, by: number): Code {
  return [...get(local), ...constant(by), ...I32_ADD, ...set(local)];
}

function lane(index: number): Code {
  return [...get(SUM), 0xfd, 0x1b, index];
}

function loadI32(offset: number): Code {
  return [0x28, 2, offset];
}

function get(local: number): Code {
  return [0x20, local];
}

function set(local: number): Code {
  return [0x21, local];
}

/** A constant from 0 to 8191: two bytes of signed LEB128. */
function constant(value: number): Code {
  return [0x41, (value & 0x7f) | 0x80, value >> 7];
}

function section(id: number, items: readonly Code[]): Code {
  return [id, ...sized(list(items))];
}

function list(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()];
}

function name(text: string): Code {
  return sized([...new TextEncoder().encode(text)]);
}

function sized(bytes: Code): Code {
  return [...unsigned(bytes.length), ...bytes];
}

/** Unsigned LEB128. */
function unsigned(value: number): Code {
  return value < 0x80
    ? [value]
    : [(value & 0x7f) | 0x80, ...unsigned(value >> 7)];
}

function isFunction(value: unknown): value is ScanFunction {
  return typeof value === "function";
}

const PAGE_BYTES = 65_536;
/** 4 GiB: what addresses of 32 bits reach. */
const MAX_PAGES = 65_536;
/** Rows that one call of the loop takes. */
const BATCH_ROWS = 8_192;
/** Bytes of a pair of the sparse query. */
const PAIR_BYTES = 8;
/**
 * The sparse loop takes a column at a time; up to this share of the columns
 * that is faster than the dense loop.
 */
const SPARSE_SHARE = 1 / 16;

/** How much an arena may take. */
export interface ArenaBounds {
  /**
   * Most bytes; rounded up to whole pages of 64 KiB.
   *
   * @default {4294967296} what addresses of 32 bits reach
   */
  readonly maxBytes?: number | undefined;
}

/** Rows of signed bytes, and the sums of products over many of them. */
export class RowArena {
  /** How wide the vectors are. */
  readonly width: number;
  readonly #strideBytes: number;
  readonly #memory: WebAssembly.Memory;
  readonly #maxPages: number;
  readonly #scan: RowScan;
  readonly #addressesAt: number;
  readonly #sumsAt: number;
  readonly #rowsAt: number;
  readonly #free: number[] = [];
  #used = 0;
  #bytes: Int8Array;

  /**
   * An arena for vectors of `width` numbers that takes at most `maxBytes`, 4 GiB
   * by default.
   */
  constructor(width: number, { maxBytes }: ArenaBounds = {}) {
    this.width = width;
    this.#maxPages = maxBytes === undefined
      ? MAX_PAGES
      : Math.ceil(maxBytes / PAGE_BYTES);
    this.#strideBytes = Math.ceil(width / DENSE_STEP) * DENSE_STEP;
    this.#addressesAt = PAIR_BYTES * this.#strideBytes;
    this.#sumsAt = this.#addressesAt + 4 * BATCH_ROWS;
    this.#rowsAt = this.#sumsAt + 4 * BATCH_ROWS;
    this.#memory = new WebAssembly.Memory({
      initial: Math.ceil(this.#rowsAt / PAGE_BYTES) + 1,
      maximum: this.#maxPages,
    });
    this.#scan = compileRowScan(this.#memory);
    this.#bytes = new Int8Array(this.#memory.buffer);
  }

  /**
   * Keeps a row of numbers from -127 to 127, one for each column.
   *
   * @returns its place
   * @throws {RangeError} when the memory is full
   */
  add(row: Int8Array): number {
    const place = this.#free.pop() ?? this.#newPlace();
    this.#bytes.set(row, this.#rowsAt + place * this.#strideBytes);
    return place;
  }

  /** Bytes that a row takes. */
  get rowBytes(): number {
    return this.#strideBytes;
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
   */
  scan(
    query: WholeQuery,
    { places, count, sums }: {
      readonly places: Uint32Array;
      readonly count: number;
      readonly sums: Int32Array;
    },
  ): void {
    const { buffer } = this.#memory;
    const isSparse = query.columns.length <= this.width * SPARSE_SHARE;
    if (query.columns.length === 0) {
      sums.fill(0, 0, count);
      return;
    }
    const length = isSparse
      ? this.#writePairs(query)
      : this.#writeNumbers(query);
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
  }

  #writePairs({ columns, values }: WholeQuery): number {
    const pairs = new Int32Array(this.#memory.buffer, 0, 2 * columns.length);
    for (let index = 0; index < columns.length; index++) {
      pairs[2 * index] = columns[index] ?? 0;
      pairs[2 * index + 1] = values[index] ?? 0;
    }
    return columns.length * PAIR_BYTES;
  }

  #writeNumbers({ columns, values }: WholeQuery): number {
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

  /** Doubles the memory, or takes what is left up to the limit. */
  #grow(endAt: number): void {
    const pages = this.#bytes.length / PAGE_BYTES;
    const wanted = Math.ceil(endAt / PAGE_BYTES);
    if (wanted > this.#maxPages) {
      throw new RangeError(
        `Cannot add a vector: the index is full with ${this.#used} of them`,
      );
    }
    this.#memory.grow(Math.min(2 * pages, this.#maxPages) - pages);
    this.#bytes = new Int8Array(this.#memory.buffer);
  }
}
