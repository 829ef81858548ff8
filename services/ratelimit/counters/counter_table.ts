/**
 * Counters by key in two large blocks of memory: a million of them are no objects
 * that the garbage collector would have to look at.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Algorithm } from "../rules/algorithm.ts";
import { ByteCells } from "../bytes/byte_cells.ts";
import { hashBytes, randomHashSeed } from "../bytes/byte_map.ts";
import { GrowingBlock } from "../bytes/growing_block.ts";
import type { CounterOperation } from "./counter_store.ts";
import type { SlidingWindow } from "./sliding_window.ts";
import type { TokenBucket } from "./token_bucket.ts";

/** Counts in place of a count, where the algorithm isn't the fixed window. */
export type PacedCounter = SlidingWindow | TokenBucket;

/**
 * Longer keys are kept as a digest, so that no caller decides how much memory a
 * counter takes.
 */
const MAX_PLAIN_KEY_BYTES = 247;
/** Tells a digest from a short key of the same bytes. */
const DIGEST_MARK = 4;
const KINDS: Readonly<Record<Algorithm, number>> = {
  fixed_window: 0,
  sliding_window: 1,
  token_bucket: 2,
};

/**
 * Hash tables by the first bits of the hash, each of which grows by itself: with
 * a million counters that moves 6,000 of them, not all at once.
 */
const SEGMENTS = 256;
const SEGMENT_SHIFT = 24;
const FIRST_SLOTS = 8;

/** A record: four numbers of 8 bytes, then four of 4. */
const RECORD_BYTES = 48;
const NUMBERS = RECORD_BYTES / 8;
const WORDS = RECORD_BYTES / 4;
const COUNT = 0;
const WINDOW_SECONDS = 1;
const END_SECONDS = 2;
const END_MS = 3;
const LIMIT = 8;
const HASH = 9;
const CELL = 10;
/** Length of the key in bytes, and its kind above that. */
const INFO = 11;

interface Segment {
  /** For each slot the position + 1, or 0 for a free slot. */
  slots: Uint32Array;
  size: number;
}

/** How a {@linkcode CounterTable} is made. */
interface CounterTableOptions {
  /**
   * Seed of the hash, see {@linkcode hashBytes}; to be given in tests only.
   *
   * @default a random one
   */
  readonly seed?: number | undefined;
}

/**
 * Counters by the bytes of their key, their algorithm and the length of their
 * window. Open addressing with linear probing, at most three quarters full,
 * hashes keyed by a secret seed, so that a client's keys do not slow it down.
 * Memory is used again when counters go, and not given back.
 *
 * A counter has a position from 0 to `size` − 1, for walking over them in small
 * steps, and keeps it until one is removed: then the last one moves there.
 */
export class CounterTable {
  readonly #seed: number;
  readonly #segments: readonly Segment[] = Array.from(
    { length: SEGMENTS },
    () => ({ slots: NO_SLOTS, size: 0 }),
  );
  readonly #keys = new ByteCells();
  readonly #block = new GrowingBlock();
  #numbers = new Float64Array(this.#block.buffer);
  #words = new Uint32Array(this.#block.buffer);
  #floats = new Float32Array(this.#block.buffer);
  /** By position; made with the first of its kind. */
  #paced: Array<PacedCounter | undefined> | undefined;
  #size = 0;
  // What the last `find` looked for.
  #bytes: Uint8Array = NO_BYTES;
  #start = 0;
  #end = 0;
  #hash = 0;
  #info = 0;
  #windowSeconds = 0;

  /** Makes an empty table. */
  constructor({ seed = randomHashSeed() }: CounterTableOptions = {}) {
    this.#seed = seed;
  }

  /** Number of counters. */
  get size(): number {
    return this.#size;
  }

  /** Hits in a counter's window. */
  countAt(position: number): number {
    return this.#numbers[position * NUMBERS + COUNT]!;
  }

  /** Length of its window in seconds. */
  windowSecondsAt(position: number): number {
    return this.#numbers[position * NUMBERS + WINDOW_SECONDS]!;
  }

  /** When its window is over, by the time of day in Unix seconds. */
  endSecondsAt(position: number): number {
    return this.#numbers[position * NUMBERS + END_SECONDS]!;
  }

  /** When the length of its window has passed, by the caller's other clock. */
  endMsAt(position: number): number {
    return this.#numbers[position * NUMBERS + END_MS]!;
  }

  /** The most that it admits, about, as the last operation said. */
  limitAt(position: number): number {
    return this.#floats[position * WORDS + LIMIT]!;
  }

  /** What counts in place of the count, if anything does. */
  pacedAt(position: number): PacedCounter | undefined {
    return this.#paced?.[position];
  }

  /** Sets the hits in a counter's window. */
  setCount(position: number, count: number): void {
    this.#numbers[position * NUMBERS + COUNT] = count;
  }

  /** Sets the most that it admits. */
  setLimit(position: number, limit: number): void {
    this.#floats[position * WORDS + LIMIT] = limit;
  }

  /** Sets when its window ends, by both clocks. */
  setEnd(position: number, endSeconds: number, endMs: number): void {
    const at = position * NUMBERS;
    this.#numbers[at + END_SECONDS] = endSeconds;
    this.#numbers[at + END_MS] = endMs;
  }

  /** Sets what counts in place of the count. */
  setPaced(position: number, paced: PacedCounter): void {
    this.#paced ??= [];
    this.#paced[position] = paced;
  }

  /** The position of an operation's counter, or -1. */
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
    // Counters of one key by several windows are not to be in one place.
    const hash = this.#hash =
      (keyHash ^ Math.imul(windowSeconds | 0, 0x9e3779b1)) >>> 0;
    const { slots } = this.#segments[hash >>> SEGMENT_SHIFT]!;
    const mask = slots.length - 1;
    const words = this.#words;
    for (let slot = hash & mask;; slot = (slot + 1) & mask) {
      const position = slots[slot]! - 1;
      if (position < 0) return -1;
      const at = position * WORDS;
      if (
        words[at + HASH] === hash && words[at + INFO] === info &&
        this.#numbers[position * NUMBERS + WINDOW_SECONDS] === windowSeconds &&
        this.#keys.matches(words[at + CELL]!, length, this.#bytes, this.#start)
      ) return position;
    }
  }

  /**
   * Makes the counter that `find` did not find just now, with nothing counted
   * and neither limit nor end.
   *
   * @returns Its position.
   */
  add(): number {
    const position = this.#size++;
    if (this.#block.reserve(this.#size * RECORD_BYTES)) {
      const { buffer } = this.#block;
      this.#numbers = new Float64Array(buffer);
      this.#words = new Uint32Array(buffer);
      this.#floats = new Float32Array(buffer);
    }
    const hash = this.#hash;
    this.#numbers[position * NUMBERS + WINDOW_SECONDS] = this.#windowSeconds;
    this.setCount(position, 0);
    const at = position * WORDS;
    this.#words[at + HASH] = hash;
    this.#words[at + INFO] = this.#info;
    this.#words[at + CELL] = this.#keys.store(
      this.#bytes,
      this.#start,
      this.#end,
    );
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!;
    if (++segment.size * 4 > segment.slots.length * 3) this.#grow(segment);
    fillSlot(segment.slots, hash, position);
    return position;
  }

  /** Removes a counter; the last one moves to its position. */
  remove(position: number): void {
    const words = this.#words;
    const at = position * WORDS;
    const hash = words[at + HASH]!;
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!;
    const slot = slotOf(segment.slots, hash, position);
    this.#keys.remove(words[at + CELL]!);
    const last = --this.#size;
    if (position !== last) {
      const lastHash = words[last * WORDS + HASH]!;
      const { slots } = this.#segments[lastHash >>> SEGMENT_SHIFT]!;
      slots[slotOf(slots, lastHash, last)] = position + 1;
      words.copyWithin(at, last * WORDS, (last + 1) * WORDS);
      if (this.#paced !== undefined) this.#paced[position] = this.#paced[last];
    }
    if (this.#paced !== undefined && last < this.#paced.length) {
      this.#paced.length = last;
    }
    segment.size--;
    this.#shiftBack(segment.slots, slot);
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
/** One free slot, which every search ends at. */
const NO_SLOTS = new Uint32Array(1);

function slotOf(slots: Uint32Array, hash: number, position: number): number {
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
