/**
 * Storage for many short byte strings in one block of memory.
 *
 * @module
 */

import { GrowingBlock } from "./growing_block.ts";

const CELL_BYTES = 32;
const LINK_BYTES = 4;

/** The end of a chain; no cell has this number. */
const NONE = 0xffffffff;

/**
 * Keeps byte strings in chains of cells of 32 bytes. Cells of removed strings
 * serve the next ones whatever their length, so that memory stays at the
 * greatest content there ever was, however lengths change, and nothing is ever
 * moved together.
 */
export class ByteCells {
  readonly #bytesBlock = new GrowingBlock();
  readonly #nextBlock = new GrowingBlock();
  #bytes = new Uint8Array(this.#bytesBlock.buffer);
  #next = new Uint32Array(this.#nextBlock.buffer);
  #used = 0;
  #free = NONE;

  /** Bytes of memory held, in use or not. */
  get byteLength(): number {
    return this.#bytes.byteLength + this.#next.byteLength;
  }

  /**
   * Copies the bytes from `start` up to `end` in.
   *
   * @returns What the other methods call the string by.
   */
  store(bytes: Uint8Array, start: number, end: number): number {
    let head = NONE;
    let tail = NONE;
    for (let from = start; from < end || head === NONE; from += CELL_BYTES) {
      const cell = this.#take();
      if (tail === NONE) head = cell;
      else this.#next[tail] = cell;
      tail = cell;
      const to = Math.min(from + CELL_BYTES, end);
      const own = this.#bytes;
      let at = cell * CELL_BYTES;
      for (let i = from; i < to; i++) own[at++] = bytes[i]!;
    }
    this.#next[tail] = NONE;
    return head;
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
    let cell = head;
    for (let at = 0; at < length; at += CELL_BYTES) {
      const from = cell * CELL_BYTES;
      const bytes = Math.min(CELL_BYTES, length - at);
      copy.set(this.#bytes.subarray(from, from + bytes), at);
      cell = this.#next[cell]!;
    }
    return copy;
  }

  /** Forgets the string `head`. */
  remove(head: number): void {
    let tail = head;
    for (;;) {
      const next = this.#next[tail]!;
      if (next === NONE) break;
      tail = next;
    }
    this.#next[tail] = this.#free;
    this.#free = head;
  }

  #take(): number {
    const cell = this.#free;
    if (cell !== NONE) {
      this.#free = this.#next[cell]!;
      return cell;
    }
    const used = this.#used++;
    if (this.#bytesBlock.reserve(this.#used * CELL_BYTES)) {
      this.#bytes = new Uint8Array(this.#bytesBlock.buffer);
    }
    if (this.#nextBlock.reserve(this.#used * LINK_BYTES)) {
      this.#next = new Uint32Array(this.#nextBlock.buffer);
    }
    return used;
  }
}
