/**
 * Storage for many short byte strings in one block of memory, which grows where
 * it is, so that nothing is copied however much it holds.
 *
 * @module
 */

/** Up to here a block is copied when it grows: most never get there. */
const SMALL_BYTES = 2 ** 20;
/** Addresses that a larger block takes, of which it uses what it needs. */
const RESERVED_BYTES = 2 ** 32;
/** Where a machine gives out no such range of addresses. */
const LEAST_RESERVED_BYTES = 2 ** 26;
const STEP_BYTES = 2 ** 20;

/** Memory of any size; what it has not held yet is zero. */
export class GrowingBlock {
  #buffer = new ArrayBuffer(512);

  /** The memory; another one after {@linkcode GrowingBlock.reserve} says so. */
  get buffer(): ArrayBuffer {
    return this.#buffer;
  }

  /**
   * Makes room for so many bytes in all.
   *
   * @returns Whether {@linkcode GrowingBlock.buffer} is another one now, so that
   * views of it are to be made again. Otherwise they have grown with it.
   */
  reserve(bytes: number): boolean {
    const old = this.#buffer;
    if (bytes <= old.byteLength) return false;
    if (bytes <= SMALL_BYTES) {
      this.#buffer = new ArrayBuffer(Math.max(bytes, 2 * old.byteLength));
    } else {
      const step = Math.max(STEP_BYTES, old.byteLength >> 4);
      const length = Math.ceil((bytes + step) / 4_096) * 4_096;
      if (old.resizable && length <= old.maxByteLength) {
        old.resize(length);
        return false;
      }
      this.#buffer = reserved(length);
    }
    new Uint8Array(this.#buffer).set(new Uint8Array(old));
    return true;
  }
}

function reserved(length: number): ArrayBuffer {
  let bytes = Math.max(RESERVED_BYTES, 2 * length);
  for (;;) {
    try {
      return new ArrayBuffer(length, { maxByteLength: bytes });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      bytes /= 2;
      if (bytes < Math.max(LEAST_RESERVED_BYTES, length)) throw error;
    }
  }
}

/** Memory that several threads use, of a size that doesn't change. */
interface SharedCells {
  /** Holds the strings. */
  readonly bytes: SharedArrayBuffer;
  /** Holds the links of the chains. */
  readonly links: SharedArrayBuffer;
  /** Holds {@linkcode CELL_STATE_WORDS} numbers, all 0 at first. */
  readonly state: Uint32Array;
}

const CELL_BYTES = 32;
const LINK_BYTES = 4;

/** The end of a chain; no cell has this number. */
const NONE = 0xffffffff;

/** Numbers that tell which cells are in use. */
export const CELL_STATE_WORDS = 3;
/** Cells that have been used before. */
const USED = 0;
/** The first free one of those, counted from 1; 0 where there is none. */
const FREE = 1;
const FREE_COUNT = 2;

/**
 * Keeps byte strings in chains of cells of 32 bytes. Cells of removed strings
 * serve the next ones whatever their length, so that memory stays at the
 * greatest content there ever was, however lengths change, and nothing is ever
 * moved together.
 */
export class ByteCells {
  readonly #bytesBlock = new GrowingBlock();
  readonly #nextBlock = new GrowingBlock();
  readonly #isShared: boolean;
  readonly #state: Uint32Array;
  #bytes: Uint8Array;
  #next: Uint32Array;

  /**
   * Cells in memory of their own, which grows; or in memory that other threads
   * use as well, one at a time, which doesn't.
   */
  constructor(shared?: SharedCells) {
    this.#isShared = shared !== undefined;
    this.#bytes = new Uint8Array(shared?.bytes ?? this.#bytesBlock.buffer);
    this.#next = new Uint32Array(shared?.links ?? this.#nextBlock.buffer);
    this.#state = shared?.state ?? new Uint32Array(CELL_STATE_WORDS);
  }

  /** Bytes that shared memory for so many cells takes. */
  static bytesFor(
    cells: number,
  ): { readonly bytes: number; readonly links: number } {
    return { bytes: cells * CELL_BYTES, links: cells * LINK_BYTES };
  }

  /** Bytes of memory held, in use or not. */
  get byteLength(): number {
    return this.#bytes.byteLength + this.#next.byteLength;
  }

  /** Whether strings of so many bytes together, in up to two, fit in. */
  hasRoom(bytes: number): boolean {
    if (!this.#isShared) return true;
    const free = this.#next.length - this.#state[USED]! +
      this.#state[FREE_COUNT]!;
    return free >= bytes / CELL_BYTES + 2;
  }

  /**
   * Copies the bytes from `start` up to `end` in. In shared memory
   * {@linkcode ByteCells.hasRoom} is to be asked before.
   *
   * @returns What the other methods call the string by.
   */
  store(bytes: Uint8Array, start: number, end: number): number {
    const head = this.#take();
    this.#write(head, bytes, start, end);
    return head;
  }

  /**
   * Puts the first `length` bytes of `bytes` in the place of the string `head`.
   * In shared memory they may not be more than that had at first: it keeps its
   * cells.
   */
  replace(head: number, bytes: Uint8Array, length: number): void {
    const last = this.#write(head, bytes, 0, length);
    if (this.#isShared) return;
    const rest = this.#next[last]!;
    if (rest === NONE) return;
    this.#next[last] = NONE;
    this.remove(rest);
  }

  /** True when the string `head` of `length` bytes is the bytes from `start`. */
  matches(
    head: number,
    length: number,
    bytes: Uint8Array,
    start: number,
  ): boolean {
    const own = this.#bytes;
    let cell = head;
    const end = start + length;
    let from = start;
    for (;;) {
      const to = from + CELL_BYTES < end ? from + CELL_BYTES : end;
      let at = cell * CELL_BYTES;
      while (from < to) {
        if (own[at] !== bytes[from]) return false;
        at++;
        from++;
      }
      if (from === end) return true;
      cell = this.#next[cell]!;
    }
  }

  /** A copy of the string `head` of `length` bytes. */
  read(head: number, length: number): Uint8Array {
    const copy = new Uint8Array(length);
    this.readInto(copy, head, length);
    return copy;
  }

  /** Copies the string `head` of `length` bytes to the beginning of `target`. */
  readInto(target: Uint8Array, head: number, length: number): void {
    const own = this.#bytes;
    let cell = head;
    for (let at = 0; at < length; at += CELL_BYTES) {
      const end = Math.min(at + CELL_BYTES, length);
      let from = cell * CELL_BYTES;
      for (let i = at; i < end; i++) target[i] = own[from++]!;
      cell = this.#next[cell]!;
    }
  }

  /** Forgets the string `head`. */
  remove(head: number): void {
    let tail = head;
    let cells = 1;
    for (;;) {
      const next = this.#next[tail]!;
      if (next === NONE) break;
      tail = next;
      cells++;
    }
    const state = this.#state;
    this.#next[tail] = state[FREE]! === 0 ? NONE : state[FREE]! - 1;
    state[FREE] = head + 1;
    state[FREE_COUNT] = state[FREE_COUNT]! + cells;
  }

  /**
   * Writes into the chain that begins with `head`, with more cells where it is
   * too short.
   *
   * Without an object for its arguments: it runs for each new counter.
   *
   * @returns The last cell that was written to.
   */
  #write(
    head: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): number {
    let cell = head;
    for (let from = start;;) {
      const to = from + CELL_BYTES < end ? from + CELL_BYTES : end;
      // After each cell that is taken the memory may be another one.
      const own = this.#bytes;
      let at = cell * CELL_BYTES;
      for (let i = from; i < to; i++) own[at++] = bytes[i]!;
      from = to;
      if (from >= end) return cell;
      let next = this.#next[cell]!;
      if (next === NONE) {
        next = this.#take();
        this.#next[cell] = next;
      }
      cell = next;
    }
  }

  /** A cell that ends a chain. */
  #take(): number {
    const state = this.#state;
    let cell = state[FREE]! - 1;
    if (cell >= 0) {
      const next = this.#next[cell]!;
      state[FREE] = next === NONE ? 0 : next + 1;
      state[FREE_COUNT] = state[FREE_COUNT]! - 1;
    } else {
      cell = state[USED]!;
      state[USED] = cell + 1;
      if (!this.#isShared) this.#reserve(cell + 1);
    }
    this.#next[cell] = NONE;
    return cell;
  }

  #reserve(cells: number): void {
    if (this.#bytesBlock.reserve(cells * CELL_BYTES)) {
      this.#bytes = new Uint8Array(this.#bytesBlock.buffer);
    }
    if (this.#nextBlock.reserve(cells * LINK_BYTES)) {
      this.#next = new Uint32Array(this.#nextBlock.buffer);
    }
  }
}
