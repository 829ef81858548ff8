/**
 * A hash table whose keys are ranges of a byte array, looked up without making
 * a string or a view.
 *
 * @module
 */

import { ByteCells } from "./byte_cells.ts";
import { hashBytes, randomHashSeed } from "./byte_hash.ts";

export { hashBytes } from "./byte_hash.ts";

/** How a {@linkcode ByteMap} is made. */
export interface ByteMapOptions {
  /**
   * Seed of the hash, see {@linkcode hashBytes}; to be given in tests only.
   *
   * @default a random one
   */
  readonly seed?: number;
}

const FIRST_SLOTS = 8;

/**
 * Maps byte strings to values: open addressing with linear probing, at most
 * three quarters full, removal by shifting back (so it does not slow down with
 * use), hashes keyed by a secret seed (so a stranger's keys do not slow it
 * down). Keys are copied in. Memory is not given back when entries go.
 *
 * Entries also have a position from 0 to `size` − 1, for walking over them in
 * small steps: an entry keeps its position until one is removed, and then the
 * last one moves to the position of the removed one.
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

  /** The value of the key at `bytes` from `start` up to `end`. */
  get(bytes: Uint8Array, start: number, end: number): T | undefined {
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

  /** The value at a position, `undefined` beyond the last one. */
  valueAt(position: number): T | undefined {
    return this.#values[position];
  }

  /**
   * Removes the entry at a position; the last entry moves there.
   *
   * @returns Whether there was one.
   */
  deleteAt(position: number): boolean {
    if (position < 0 || position >= this.#values.length) return false;
    this.#remove(this.#slotOf(position));
    return true;
  }

  /** Copies of the keys with their values, by position. */
  *entries(): Generator<[key: Uint8Array, value: T]> {
    for (let position = 0; position < this.#values.length; position++) {
      const at = position * 3;
      yield [
        this.#cells.read(this.#entries[at + 1]!, this.#entries[at + 2]!),
        this.#values[position]!,
      ];
    }
  }

  /** Index of the key's slot within {@linkcode #slots}, or -1. */
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

  #slotOf(position: number): number {
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
      this.#slots[this.#slotOf(last) + 1] = position + 1;
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
