/**
 * A map that forgets what is oldest, in constant time.
 *
 * @module
 */

/**
 * Keeps the last entries that were set: at least half of `maxEntries`, and never
 * more than all of them. Deleting the oldest entry of a plain map walks over
 * those that were deleted before it; this drops a whole generation instead.
 */
export class GenerationMap<K, V> {
  readonly #maxPerGeneration: number;
  #young = new Map<K, V>();
  #old: ReadonlyMap<K, V> = new Map<K, V>();

  /**
   * An empty map.
   *
   * @throws {RangeError} when it may hold fewer than two entries
   */
  constructor(maxEntries: number) {
    if (!(maxEntries >= 2)) {
      throw new RangeError(
        `Cannot make map: ${maxEntries} entries are too few`,
      );
    }
    this.#maxPerGeneration = Math.floor(maxEntries / 2);
  }

  /** The value of a key, if it is remembered. */
  get(key: K): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Remembers a value. */
  set(key: K, value: V): void {
    if (
      this.#young.size >= this.#maxPerGeneration && !this.#young.has(key)
    ) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
