/**
 * Storage for many short byte strings in one block of memory. A large block
 * grows in place, so that nothing is copied however much it holds.
 *
 * @module
 */

/**
 * Size up to which a block is copied when it grows: most blocks stay below it.
 */
const SMALL_BYTES = 2 ** 20;
/**
 * Bytes of address space that a larger block reserves; it uses memory only for
 * what it needs.
 */
const RESERVED_BYTES = 2 ** 32;
/**
 * Smallest reservation that is tried on a machine that refuses a larger one.
 */
const LEAST_RESERVED_BYTES = 2 ** 26;
const STEP_BYTES = 2 ** 20;

/** Memory that grows as needed; bytes that were never written are zero. */
export class GrowingBlock {
  #buffer = new ArrayBuffer(512);

  /** The memory. {@linkcode GrowingBlock.reserve} says when it was replaced. */
  get buffer(): ArrayBuffer {
    return this.#buffer;
  }

  /**
   * Makes room for so many bytes in all.
   *
   * @returns True when {@linkcode GrowingBlock.buffer} was replaced, so that
   * views of it must be made again. Otherwise existing views have grown with
   * it.
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

/** Memory of a fixed size that several threads use. */
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

/** Length of the `state` of cells, which tells which cells are in use. */
export const CELL_STATE_WORDS = 3;
/** Index in the state: number of cells that have been used at least once. */
const USED = 0;
/**
 * Index in the state: the first free cell among those, counted from 1; 0 when
 * no cell is free.
 */
const FREE = 1;
const FREE_COUNT = 2;

/**
 * Keeps byte strings in chains of cells of 32 bytes. Cells of removed strings
 * are reused for strings of any length, so that memory stays at the largest
 * content there ever was, and no string is ever moved.
 */
export class ByteCells {
  readonly #bytesBlock = new GrowingBlock();
  readonly #nextBlock = new GrowingBlock();
  readonly #isShared: boolean;
  readonly #state: Uint32Array;
  #bytes: Uint8Array;
  #next: Uint32Array;

  /**
   * Makes cells in memory of their own, which grows; or in shared memory, which
   * does not grow, and which other threads use as well, one at a time.
   */
  constructor(shared?: SharedCells) {
    this.#isShared = shared !== undefined;
    this.#bytes = new Uint8Array(shared?.bytes ?? this.#bytesBlock.buffer);
    this.#next = new Uint32Array(shared?.links ?? this.#nextBlock.buffer);
    this.#state = shared?.state ?? new Uint32Array(CELL_STATE_WORDS);
  }

  /** Returns the bytes of shared memory that so many cells take. */
  static bytesFor(
    cells: number,
  ): { readonly bytes: number; readonly links: number } {
    return { bytes: cells * CELL_BYTES, links: cells * LINK_BYTES };
  }

  /** Bytes of memory held, in use or not. */
  get byteLength(): number {
    return this.#bytes.byteLength + this.#next.byteLength;
  }

  /** True when up to two strings with so many bytes in total fit in. */
  hasRoom(bytes: number): boolean {
    if (!this.#isShared) return true;
    const free = this.#next.length - this.#state[USED]! +
      this.#state[FREE_COUNT]!;
    return free >= bytes / CELL_BYTES + 2;
  }

  /**
   * Stores the bytes from `start` up to `end`. In shared memory, the caller
   * must ask {@linkcode ByteCells.hasRoom} before.
   *
   * @returns The head, by which the other methods identify the string.
   */
  store(bytes: Uint8Array, start: number, end: number): number {
    const head = this.#take();
    this.#write(head, bytes, start, end);
    return head;
  }

  /**
   * Overwrites the string `head` with the first `length` bytes of `bytes`. In
   * shared memory the new content must not be longer than the string was when
   * it was stored: it keeps its cells.
   */
  replace(head: number, bytes: Uint8Array, length: number): void {
    const last = this.#write(head, bytes, 0, length);
    if (this.#isShared) return;
    const rest = this.#next[last]!;
    if (rest === NONE) return;
    this.#next[last] = NONE;
    this.remove(rest);
  }

  /** True when the string `head` equals the `length` bytes from `start`. */
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

  /** Returns a copy of the string `head` of `length` bytes. */
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

  /** Removes the string `head`; its cells become free. */
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
   * Writes into the chain that begins with `head`, and appends cells when the
   * chain is too short.
   *
   * The arguments are not in an object, as this runs for each new counter.
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
      // Taking a cell may have replaced the memory.
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

  /** Takes a free cell and makes it the end of a chain. */
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
