/**
 * Keys at hand, a bounded number of them.
 *
 * @module
 */

/**
 * Keeps keys by name; the one unused for longest makes room. A key that leaves is
 * overwritten with zeros, so one that was taken out must not be held on to: use it
 * before anything else gets a turn.
 */
export class KeyCache {
  readonly #maxKeys: number;
  readonly #keys = new Map<string, Uint8Array>();

  /**
   * A cache of at most so many keys.
   *
   * @throws {RangeError} when it may hold less than one
   */
  constructor(maxKeys: number) {
    if (!(maxKeys >= 1)) {
      throw new RangeError(`Cannot hold ${maxKeys} keys: 1 is the least`);
    }
    this.#maxKeys = maxKeys;
  }

  /** How many keys there are. */
  get size(): number {
    return this.#keys.size;
  }

  /** The key of a name. */
  get(name: string): Uint8Array | undefined {
    const key = this.#keys.get(name);
    if (key === undefined) return undefined;
    this.#keys.delete(name);
    this.#keys.set(name, key);
    return key;
  }

  /** Keeps a key, which is the cache's from now on. */
  set(name: string, key: Uint8Array): void {
    this.delete(name);
    this.#keys.set(name, key);
    for (const oldest of this.#keys.keys()) {
      if (this.#keys.size <= this.#maxKeys) return;
      this.delete(oldest);
    }
  }

  /** Forgets a key. */
  delete(name: string): void {
    this.#keys.get(name)?.fill(0);
    this.#keys.delete(name);
  }

  /** Forgets all keys. */
  clear(): void {
    for (const key of this.#keys.values()) key.fill(0);
    this.#keys.clear();
  }
}
