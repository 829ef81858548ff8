/**
 * Random values from a seed, so that a failing property test can be repeated.
 *
 * @module
 */

/** A source of random values that a seed determines (mulberry32). */
export class SeededRandom {
  #state: number;

  /** Creates a source; the same seed gives the same values. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 up to but not including 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns a whole number from 0 up to but not including `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** Returns true with the probability `share`. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** Returns one of `items`. */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) {
      throw new RangeError("Cannot pick: the list is empty");
    }
    return item;
  }

  /** Returns a list of items whose length is less than `bound`. */
  list<Item>(bound: number, item: () => Item): Item[] {
    return Array.from({ length: this.below(bound) }, item);
  }

  /** Returns `length` random bytes. */
  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
