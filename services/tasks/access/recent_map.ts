/**
 * A map that keeps what was used last and has a bound.
 *
 * @module
 */

/** Keeps at most so many entries; the one not used for longest goes first. */
export class RecentMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #maxEntries: number;

  /**
   * An empty map.
   *
   * @throws {RangeError} When `maxEntries` is not a positive whole number.
   */
  constructor(maxEntries: number) {
    if (!Number.isSafeInteger(maxEntries) || maxEntries < 1) {
      throw new RangeError(
        `Cannot bound map: "${maxEntries}" is not a positive whole number`,
      );
    }
    this.#maxEntries = maxEntries;
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, which counts as used now. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    // A map lists its entries in the order they were put in.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Keeps a value; another one goes when there is no room. */
  set(key: K, value: V): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#maxEntries) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, value);
  }

  /** Drops a key. */
  delete(key: K): void {
    this.#entries.delete(key);
  }
}
