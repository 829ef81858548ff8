/**
 * Counters by key in a few large blocks of memory. Even a million counters are
 * no objects that the garbage collector would have to visit, and several
 * threads can use the same ones.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Algorithm } from "../rules/algorithm.ts";
import {
  ByteCells,
  CELL_STATE_WORDS,
  GrowingBlock,
} from "../bytes/byte_cells.ts";
import { hashBytes, randomHashSeed } from "../bytes/byte_map.ts";
import type { CounterOperation } from "./counter_store.ts";
import { MAX_PLAIN_KEY_BYTES } from "./fixed_window.ts";
import { MOST_WINDOW_NUMBERS } from "./sliding_window.ts";

/**
 * A counter whose algorithm isn't the fixed window: it has a state of several
 * numbers in place of a count.
 */
interface PacedCounter {
  /** Time in microseconds from which on the counter is as good as new. */
  readonly wholeAtMicros: number;
  /** Writes the state as numbers; returns how many numbers that is. */
  writeTo(numbers: Float64Array): number;
  /** Restores the state that was written as so many numbers. */
  readFrom(numbers: Float64Array, count: number): void;
}

/**
 * Bit of a counter's kind that tells a digest from a short key of the same
 * bytes.
 */
const DIGEST_MARK = 4;
/** Bits of a counter's kind that tell its algorithm. */
const ALGORITHM_BITS = 3;
const KINDS: Readonly<Record<Algorithm, number>> = {
  fixed_window: 0,
  sliding_window: 1,
  token_bucket: 2,
};

/**
 * Number of hash tables, chosen by the first bits of the hash. Each table grows
 * by itself: with a million counters, growing moves 6,000 of them, not all at
 * once.
 */
const SEGMENTS = 256;
const SEGMENT_SHIFT = 24;
const FIRST_SLOTS = 8;

/** Bytes of a counter's record: two numbers of 8 bytes, then six of 4. */
const RECORD_BYTES = 40;
const NUMBERS = RECORD_BYTES / 8;
const WORDS = RECORD_BYTES / 4;
const COUNT = 0;
const END_MS = 1;
const WINDOW_SECONDS = 4;
/**
 * End of the window in Unix seconds, of which only the lower 32 bits are kept:
 * windows are shorter than the range of these.
 */
const END_SECONDS = 5;
const LIMIT = 6;
const HASH = 7;
const CELL = 8;
/** Length of the key in bytes; above these 8 bits, the counter's kind. */
const INFO = 9;

/** In place of the count, a paced counter has the cell of its numbers. */
const PACED_CELL = COUNT;
/**
 * In place of the end in seconds, a paced counter has how many numbers it has.
 */
const PACED_NUMBERS = END_SECONDS;
/**
 * In place of the end in milliseconds, a paced counter has the time from which
 * it is as good as new.
 */
const PACED_WHOLE_AT = END_MS;

interface Segment {
  /** For each slot the position + 1, or 0 for a free slot. */
  slots: Uint32Array;
  size: number;
}

/**
 * Memory of counters that several threads use, one at a time; a thread gets the
 * memory in a message. Its size is fixed; the part that is not in use takes no
 * memory of the machine.
 */
export interface SharedCounters {
  /** Most counters that fit in. */
  readonly maxKeys: number;
  /** Seed of the hash. */
  readonly seed: number;
  /** Holds {@linkcode STATE_WORDS} numbers. */
  readonly state: SharedArrayBuffer;
  /** Holds the records. */
  readonly records: SharedArrayBuffer;
  /** Holds the slots of one segment. */
  readonly slots: SharedArrayBuffer;
  /** Holds the keys, and the numbers of paced counters. */
  readonly cells: SharedArrayBuffer;
  /** Holds the links between the cells. */
  readonly links: SharedArrayBuffer;
}

/**
 * Numbers in the state: the number of counters, then the state of the cells.
 */
const STATE_WORDS = 1 + CELL_STATE_WORDS;
const SIZE = 0;
/**
 * Cells reserved for each counter: a key of 60 bytes takes two, a sliding
 * window up to 34.
 */
const SHARED_CELLS_PER_KEY = 6;
const LEAST_SHARED_CELLS = 65_536;

/**
 * Allocates memory for counters that threads share.
 *
 * @throws {RangeError} When the machine doesn't give out so many addresses.
 */
export function shareCounters(maxKeys: number): SharedCounters {
  const cells = ByteCells.bytesFor(
    Math.max(LEAST_SHARED_CELLS, SHARED_CELLS_PER_KEY * maxKeys),
  );
  // At most three quarters of the slots are used.
  const slots = 2 ** Math.ceil(Math.log2((maxKeys + 1) * 4 / 3));
  return {
    maxKeys,
    seed: randomHashSeed(),
    state: new SharedArrayBuffer(STATE_WORDS * 4),
    records: new SharedArrayBuffer((maxKeys + 1) * RECORD_BYTES),
    slots: new SharedArrayBuffer(slots * 4),
    cells: new SharedArrayBuffer(cells.bytes),
    links: new SharedArrayBuffer(cells.links),
  };
}

/** How a {@linkcode CounterTable} is made. */
interface CounterTableOptions {
  /**
   * Memory that other threads use, too; the caller makes sure that one thread
   * uses it at a time.
   *
   * @default memory of its own, which grows
   */
  readonly shared?: SharedCounters | undefined;
  /**
   * Seed of the hash, see {@linkcode hashBytes}; set in tests only.
   *
   * @default a random one
   */
  readonly seed?: number | undefined;
}

/**
 * Counters by the bytes of their key, their algorithm and the length of their
 * window. Open addressing with linear probing, at most three quarters full,
 * hashes keyed by a secret seed, so that a client's keys do not slow it down.
 * Memory of removed counters is reused, and not given back.
 *
 * A counter has a position from 0 to `size` − 1, for walking over all counters
 * in small steps. It keeps its position until a counter is removed: then the
 * last counter moves to the position of the removed one.
 */
export class CounterTable {
  readonly #seed: number;
  readonly #isShared: boolean;
  readonly #segments: readonly Segment[];
  readonly #segmentMask: number;
  readonly #keys: ByteCells;
  readonly #block = new GrowingBlock();
  readonly #state: Uint32Array;
  #numbers: Float64Array;
  #words: Uint32Array;
  #floats: Float32Array;
  /** Buffer for the numbers that a paced counter writes and reads. */
  readonly #scratch = new Float64Array(MOST_WINDOW_NUMBERS);
  readonly #scratchBytes = new Uint8Array(this.#scratch.buffer);
  // What the last `find` looked for; `add` adds a counter for it.
  #bytes: Uint8Array = NO_BYTES;
  #start = 0;
  #end = 0;
  #hash = 0;
  #info = 0;
  #windowSeconds = 0;

  /** Makes an empty table, or a table of the counters in shared memory. */
  constructor({ seed, shared }: CounterTableOptions = {}) {
    this.#isShared = shared !== undefined;
    this.#seed = shared?.seed ?? seed ?? randomHashSeed();
    const records = shared?.records ?? this.#block.buffer;
    this.#numbers = new Float64Array(records);
    this.#words = new Uint32Array(records);
    this.#floats = new Float32Array(records);
    if (shared === undefined) {
      this.#state = new Uint32Array(STATE_WORDS);
      this.#keys = new ByteCells();
      this.#segments = Array.from(
        { length: SEGMENTS },
        () => ({ slots: NO_SLOTS, size: 0 }),
      );
    } else {
      this.#state = new Uint32Array(shared.state);
      this.#keys = new ByteCells({
        bytes: shared.cells,
        links: shared.links,
        state: this.#state.subarray(SIZE + 1),
      });
      this.#segments = [{ slots: new Uint32Array(shared.slots), size: 0 }];
    }
    this.#segmentMask = this.#segments.length - 1;
  }

  /** Number of counters. */
  get size(): number {
    return this.#state[SIZE]!;
  }

  /**
   * True when there is memory for one more counter, however long its key is.
   */
  get hasRoom(): boolean {
    return this.#keys.hasRoom(MAX_PLAIN_KEY_BYTES + this.#scratch.byteLength);
  }

  /** Returns the hits in a counter's window. */
  countAt(position: number): number {
    return this.#numbers[position * NUMBERS + COUNT]!;
  }

  /** Returns the length of a counter's window in seconds. */
  windowSecondsAt(position: number): number {
    return this.#words[position * WORDS + WINDOW_SECONDS]!;
  }

  /** Returns the seconds until a counter's window ends, by the time of day. */
  secondsToEndAt(position: number, nowSeconds: number): number {
    return (this.#words[position * WORDS + END_SECONDS]! - nowSeconds) | 0;
  }

  /**
   * Returns when the length of a counter's window has passed, in milliseconds
   * of the caller's other clock.
   */
  endMsAt(position: number): number {
    return this.#numbers[position * NUMBERS + END_MS]!;
  }

  /**
   * Returns the most that a counter admits, approximately, as its last
   * operation said.
   */
  limitAt(position: number): number {
    return this.#floats[position * WORDS + LIMIT]!;
  }

  /** Returns a counter's algorithm, or undefined for the fixed window. */
  pacedAlgorithmAt(
    position: number,
  ): Exclude<Algorithm, "fixed_window"> | undefined {
    switch (this.#words[position * WORDS + INFO]! >>> 8 & ALGORITHM_BITS) {
      case KINDS.sliding_window:
        return "sliding_window";
      case KINDS.token_bucket:
        return "token_bucket";
    }
    return undefined;
  }

  /**
   * Returns the microseconds from which on a paced counter is as good as new.
   */
  wholeAtMicrosAt(position: number): number {
    return this.#numbers[position * NUMBERS + PACED_WHOLE_AT]!;
  }

  /** Restores the state of a paced counter into `paced`. */
  loadPaced(position: number, paced: PacedCounter): void {
    const at = position * NUMBERS;
    const count = this.#words[position * WORDS + PACED_NUMBERS]!;
    const cell = this.#numbers[at + PACED_CELL]!;
    this.#keys.readInto(this.#scratchBytes, cell, count * 8);
    paced.readFrom(this.#scratch, count);
  }

  /** Sets the hits in a counter's window. */
  setCount(position: number, count: number): void {
    this.#numbers[position * NUMBERS + COUNT] = count;
  }

  /** Sets the most that a counter admits. */
  setLimit(position: number, limit: number): void {
    this.#floats[position * WORDS + LIMIT] = limit;
  }

  /**
   * Sets when a counter's window ends, by the time of day in Unix seconds and
   * by the caller's other clock.
   */
  setEnd(position: number, endSeconds: number, endMs: number): void {
    this.#words[position * WORDS + END_SECONDS] = endSeconds;
    this.#numbers[position * NUMBERS + END_MS] = endMs;
  }

  /** Saves the state of a paced counter. */
  savePaced(position: number, paced: PacedCounter): void {
    const count = paced.writeTo(this.#scratch);
    const at = position * NUMBERS;
    const bytes = this.#scratchBytes;
    this.#keys.replace(this.#numbers[at + PACED_CELL]!, bytes, count * 8);
    this.#words[position * WORDS + PACED_NUMBERS] = count;
    this.#numbers[at + PACED_WHOLE_AT] = paced.wholeAtMicros;
  }

  /** Returns the position of an operation's counter, or -1. */
  find(keys: Uint8Array, operation: CounterOperation): number {
    const { algorithm, keyStart, keyEnd, windowSeconds } = operation;
    let kind = KINDS[algorithm];
    if (keyEnd - keyStart <= MAX_PLAIN_KEY_BYTES) {
      this.#bytes = keys;
      this.#start = keyStart;
      this.#end = keyEnd;
    } else {
      kind |= DIGEST_MARK;
      this.#bytes = createHash("sha256").update(keys.subarray(keyStart, keyEnd))
        .digest();
      this.#start = 0;
      this.#end = this.#bytes.length;
    }
    const length = this.#end - this.#start;
    const info = this.#info = kind << 8 | length;
    this.#windowSeconds = windowSeconds;
    const keyHash = hashBytes(this.#bytes, this.#start, this.#end, this.#seed);
    // The window is mixed in, so that counters of one key with several windows
    // do not share a place.
    const hash = this.#hash =
      (keyHash ^ Math.imul(windowSeconds | 0, 0x9e3779b1)) >>> 0;
    const { slots } = this.#getSegment(hash);
    const mask = slots.length - 1;
    const words = this.#words;
    for (let slot = hash & mask;; slot = (slot + 1) & mask) {
      const position = slots[slot]! - 1;
      if (position < 0) return -1;
      const at = position * WORDS;
      if (
        words[at + HASH] === hash && words[at + INFO] === info &&
        words[at + WINDOW_SECONDS] === windowSeconds &&
        this.#keys.matches(words[at + CELL]!, length, this.#bytes, this.#start)
      ) return position;
    }
  }

  /**
   * Adds the counter that the last `find` did not find, with a count of 0 and
   * neither limit nor end.
   *
   * @returns Its position.
   */
  add(): number {
    const position = this.#state[SIZE]!;
    this.#state[SIZE] = position + 1;
    if (!this.#isShared) this.#reserve(position + 1);
    const hash = this.#hash;
    this.setCount(position, 0);
    const at = position * WORDS;
    this.#words[at + WINDOW_SECONDS] = this.#windowSeconds;
    this.#words[at + HASH] = hash;
    this.#words[at + INFO] = this.#info;
    this.#words[at + CELL] = this.#keys.store(
      this.#bytes,
      this.#start,
      this.#end,
    );
    const algorithm = this.pacedAlgorithmAt(position);
    if (algorithm !== undefined) this.#addPaced(position, algorithm);
    const segment = this.#getSegment(hash);
    segment.size++;
    if (!this.#isShared && segment.size * 4 > segment.slots.length * 3) {
      this.#grow(segment);
    }
    fillSlot(segment.slots, hash, position);
    return position;
  }

  /** Removes a counter; the last counter moves to its position. */
  remove(position: number): void {
    const words = this.#words;
    const at = position * WORDS;
    const hash = words[at + HASH]!;
    const segment = this.#getSegment(hash);
    const slot = findSlot(segment.slots, hash, position);
    this.#keys.remove(words[at + CELL]!);
    if (this.pacedAlgorithmAt(position) !== undefined) {
      this.#keys.remove(this.#numbers[position * NUMBERS + PACED_CELL]!);
    }
    const last = this.#state[SIZE]! - 1;
    this.#state[SIZE] = last;
    if (position !== last) {
      const lastHash = words[last * WORDS + HASH]!;
      const { slots } = this.#getSegment(lastHash);
      slots[findSlot(slots, lastHash, last)] = position + 1;
      words.copyWithin(at, last * WORDS, (last + 1) * WORDS);
    }
    segment.size--;
    this.#shiftBack(segment.slots, slot);
  }

  /**
   * Removes all counters of a table in shared memory, whatever state a thread
   * has left the table in.
   */
  clear(): void {
    this.#state.fill(0);
    for (const { slots } of this.#segments) slots.fill(0);
  }

  #getSegment(hash: number): Segment {
    return this.#segments[hash >>> SEGMENT_SHIFT & this.#segmentMask]!;
  }

  #addPaced(position: number, algorithm: Algorithm): void {
    // Shared memory doesn't grow, so a sliding window reserves at once what it
    // may need.
    const bytes = algorithm === "sliding_window" && this.#isShared
      ? this.#scratch.byteLength
      : 0;
    const cell = this.#keys.store(this.#scratchBytes, 0, bytes);
    const at = position * NUMBERS;
    this.#numbers[at + PACED_CELL] = cell;
    this.#words[position * WORDS + PACED_NUMBERS] = 0;
    this.#numbers[at + PACED_WHOLE_AT] = -Infinity;
  }

  #reserve(counters: number): void {
    if (!this.#block.reserve(counters * RECORD_BYTES)) return;
    const { buffer } = this.#block;
    this.#numbers = new Float64Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#floats = new Float32Array(buffer);
  }

  /** Closes the gap at `slot`, so that no search stops there too early. */
  #shiftBack(slots: Uint32Array, slot: number): void {
    const mask = slots.length - 1;
    let gap = slot;
    for (let next = (gap + 1) & mask;; next = (next + 1) & mask) {
      const number = slots[next]!;
      if (number === 0) break;
      const hash = this.#words[(number - 1) * WORDS + HASH]!;
      const fromHome = (next - hash) & mask;
      // A counter may move up to its home slot, but not before it.
      if (fromHome < ((next - gap) & mask)) continue;
      slots[gap] = number;
      gap = next;
    }
    slots[gap] = 0;
  }

  #grow(segment: Segment): void {
    const old = segment.slots;
    segment.slots = new Uint32Array(Math.max(FIRST_SLOTS, 2 * old.length));
    for (const number of old) {
      if (number === 0) continue;
      const hash = this.#words[(number - 1) * WORDS + HASH]!;
      fillSlot(segment.slots, hash, number - 1);
    }
  }
}

const NO_BYTES = new Uint8Array();
/** A single free slot, at which every search ends. */
const NO_SLOTS = new Uint32Array(1);

function findSlot(slots: Uint32Array, hash: number, position: number): number {
  const mask = slots.length - 1;
  let slot = hash & mask;
  while (slots[slot] !== position + 1) slot = (slot + 1) & mask;
  return slot;
}

function fillSlot(slots: Uint32Array, hash: number, position: number): void {
  const mask = slots.length - 1;
  let slot = hash & mask;
  while (slots[slot] !== 0) slot = (slot + 1) & mask;
  slots[slot] = position + 1;
}
