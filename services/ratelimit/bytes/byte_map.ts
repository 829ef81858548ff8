/**
 * A hash table whose keys are ranges of a byte array, looked up without making
 * a string or a view.
 *
 * @module
 */

import { ByteCells } from "./byte_cells.ts";

/** How a {@linkcode ByteMap} is made. */
interface ByteMapOptions {
  /**
   * Seed of the hash, see {@linkcode hashBytes}; set in tests only.
   *
   * @default a random one
   */
  readonly seed?: number;
}

const FIRST_SLOTS = 8;

/**
 * Maps byte strings to values: open addressing with linear probing, at most
 * three quarters full, removal by shifting back (so it does not slow down with
 * use), hashes keyed by a secret seed (so a client's keys do not slow it down).
 * Keys are copied in. Memory is not given back when entries are removed.
 *
 * Entries also have a position from 0 to `size` − 1, for walking over them in
 * small steps: an entry keeps its position until an entry is removed; then the
 * last entry moves to the position of the removed one.
 */
export class ByteMap<T> {
  readonly #seed: number;
  readonly #cells = new ByteCells();
  /** For each slot the hash, then the position + 1 or 0 for a free slot. */
  #slots = new Uint32Array(FIRST_SLOTS * 2);
  #mask = FIRST_SLOTS - 1;
  /** For each position the hash, the key's cell and the key's length. */
  #entries = new Uint32Array(FIRST_SLOTS * 3);
  readonly #values: T[] = [];

  /** Makes an empty map. */
  constructor(options: ByteMapOptions = {}) {
    this.#seed = options.seed ?? randomHashSeed();
  }

  /** Number of entries. */
  get size(): number {
    return this.#values.length;
  }

  /** Returns the value of the key at `bytes` from `start` up to `end`. */
  get(bytes: Uint8Array, start: number, end: number): T | undefined {
    if (this.#values.length === 0) return undefined;
    const slot = this.#find(
      bytes,
      start,
      end,
      hashBytes(bytes, start, end, this.#seed),
    );
    return slot < 0 ? undefined : this.#values[this.#slots[slot + 1]! - 1];
  }

  /** Sets the value of the key at `bytes` from `start` up to `end`. */
  set(bytes: Uint8Array, start: number, end: number, value: T): void {
    const hash = hashBytes(bytes, start, end, this.#seed);
    const slot = this.#find(bytes, start, end, hash);
    if (slot >= 0) {
      this.#values[this.#slots[slot + 1]! - 1] = value;
      return;
    }
    const position = this.#values.length;
    if ((position + 1) * 4 > (this.#mask + 1) * 3) this.#grow();
    const at = position * 3;
    this.#entries[at] = hash;
    this.#entries[at + 1] = this.#cells.store(bytes, start, end);
    this.#entries[at + 2] = end - start;
    this.#values.push(value);
    this.#fillSlot(hash, position);
  }

  /**
   * Removes the key at `bytes` from `start` up to `end`.
   *
   * @returns Whether it was there.
   */
  delete(bytes: Uint8Array, start: number, end: number): boolean {
    const hash = hashBytes(bytes, start, end, this.#seed);
    const slot = this.#find(bytes, start, end, hash);
    if (slot < 0) return false;
    this.#remove(slot);
    return true;
  }

  /** Returns the value at a position, `undefined` beyond the last one. */
  valueAt(position: number): T | undefined {
    return this.#values[position];
  }

  /**
   * Removes the entry at a position; the last entry moves there.
   *
   * @returns Whether there was an entry.
   */
  deleteAt(position: number): boolean {
    if (position < 0 || position >= this.#values.length) return false;
    this.#remove(this.#findSlot(position));
    return true;
  }

  /** Yields copies of the keys with their values, by position. */
  *entries(): Generator<[key: Uint8Array, value: T]> {
    for (let position = 0; position < this.#values.length; position++) {
      const at = position * 3;
      yield [
        this.#cells.read(this.#entries[at + 1]!, this.#entries[at + 2]!),
        this.#values[position]!,
      ];
    }
  }

  /** Returns the index of the key's slot within {@linkcode #slots}, or -1. */
  #find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const slots = this.#slots;
    const entries = this.#entries;
    const mask = this.#mask;
    const length = end - start;
    for (let slot = hash & mask;; slot = (slot + 1) & mask) {
      const at = slot << 1;
      const number = slots[at + 1]!;
      if (number === 0) return -1;
      if (slots[at] === hash) {
        const entry = (number - 1) * 3;
        if (
          entries[entry + 2] === length &&
          this.#cells.matches(entries[entry + 1]!, length, bytes, start)
        ) return at;
      }
    }
  }

  #findSlot(position: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = this.#entries[position * 3]! & mask;
    while (slots[(slot << 1) + 1] !== position + 1) slot = (slot + 1) & mask;
    return slot << 1;
  }

  #fillSlot(hash: number, position: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    while (slots[(slot << 1) + 1] !== 0) slot = (slot + 1) & mask;
    slots[slot << 1] = hash;
    slots[(slot << 1) + 1] = position + 1;
  }

  #remove(at: number): void {
    const position = this.#slots[at + 1]! - 1;
    const entries = this.#entries;
    this.#cells.remove(entries[position * 3 + 1]!);
    const last = this.#values.length - 1;
    if (position !== last) {
      this.#slots[this.#findSlot(last) + 1] = position + 1;
      entries.copyWithin(position * 3, last * 3, last * 3 + 3);
      this.#values[position] = this.#values[last]!;
    }
    this.#values.pop();
    this.#shiftBack(at >> 1);
  }

  /** Closes the gap at `slot`, so that no search stops there too early. */
  #shiftBack(slot: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let gap = slot;
    for (let next = (gap + 1) & mask;; next = (next + 1) & mask) {
      const number = slots[(next << 1) + 1]!;
      if (number === 0) break;
      const hash = slots[next << 1]!;
      const fromHome = (next - hash) & mask;
      // An entry may move up to its home slot, but not before it.
      if (fromHome < ((next - gap) & mask)) continue;
      slots[gap << 1] = hash;
      slots[(gap << 1) + 1] = number;
      gap = next;
    }
    slots[(gap << 1) + 1] = 0;
  }

  #grow(): void {
    const count = (this.#mask + 1) * 2;
    this.#mask = count - 1;
    this.#slots = new Uint32Array(count * 2);
    const entries = new Uint32Array(count * 3);
    entries.set(this.#entries);
    this.#entries = entries;
    for (let position = 0; position < this.#values.length; position++) {
      this.#fillSlot(entries[position * 3]!, position);
    }
  }
}

const TWO_POW_32 = 0x1_0000_0000;

/**
 * Hashes the bytes from `start` up to, not including, `end` to 32 bits with
 * HalfSipHash-1-3 (J.-P. Aumasson, D. J. Bernstein): a client that doesn't know
 * the seed can't prepare keys that collide, which plain multiply-and-rotate
 * hashes do not promise whatever their seed.
 *
 * @param seed The key of the hash, a whole number from 0 to
 * `Number.MAX_SAFE_INTEGER`; 0 when absent, for hashes that must not change.
 * @returns A whole number from 0 to 4294967295.
 */
export function hashBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  seed = 0,
): number {
  const key0 = seed | 0;
  const key1 = seed < TWO_POW_32 ? 0 : (seed / TWO_POW_32) | 0;
  let v0 = key0;
  let v1 = key1;
  let v2 = 0x6c796765 ^ key0;
  let v3 = 0x74656462 ^ key1;
  const wordsEnd = start + ((end - start) & ~3);
  let at = start;
  // The round is written out twice: a function for it would have to return four
  // numbers, and this loop is on the path of every decision.
  for (; at < wordsEnd; at += 4) {
    const word = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 |
      bytes[at + 3]! << 24;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = (v2 + v3) | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
    v0 ^= word;
  }
  let last = (end - start) << 24;
  for (let shift = 0; at < end; at++, shift += 8) last |= bytes[at]! << shift;
  v3 ^= last;
  for (let round = 0; round < 4; round++) {
    if (round === 1) {
      v0 ^= last;
      v2 ^= 0xff;
    }
    v0 = (v0 + v1) | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = (v2 + v3) | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
  }
  return (v1 ^ v3) >>> 0;
}

/** Returns a seed for {@linkcode hashBytes} that cannot be guessed. */
export function randomHashSeed(): number {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return (words[0]! & 0x1fffff) * TWO_POW_32 + words[1]!;
}
