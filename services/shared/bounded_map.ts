/**
 * A map with a size limit, which evicts the least recently used entries (an LRU
 * cache).
 *
 * @module
 */

/** Options of {@linkcode BoundedMap}. */
interface BoundedMapOptions<K, V> {
  /** Most entries that are kept. */
  readonly maxEntries: number;
  /**
   * Most that all values may weigh together, in the unit of `weigh`. A value
   * that weighs more by itself is not kept.
   *
   * @default {Infinity}
   */
  readonly maxWeight?: number;
  /**
   * What a value weighs when it is set.
   *
   * @default 1 for each value
   */
  readonly weigh?: (value: V) => number;
  /**
   * Called with each value that is no longer kept, also when another one takes
   * its place. It must not change the map.
   *
   * @default nothing is called
   */
  readonly onLeave?: (value: V, key: K) => void;
}

interface Entry<K, V> {
  key: K;
  value: V;
  weight: number;
  /** The entry that was used next after this one. */
  newer: Entry<K, V> | undefined;
  /** The entry that was used last before this one. */
  older: Entry<K, V> | undefined;
}

/**
 * Keeps the most recently used entries. Setting, finding and dropping an entry
 * take constant time: a plain `Map`, asked for its oldest key again and again,
 * walks over all entries that were deleted before it.
 */
export class BoundedMap<K, V> {
  readonly #maxEntries: number;
  readonly #maxWeight: number;
  readonly #weigh: (value: V) => number;
  readonly #onLeave: ((value: V, key: K) => void) | undefined;
  readonly #entries = new Map<K, Entry<K, V>>();
  #newest: Entry<K, V> | undefined;
  #oldest: Entry<K, V> | undefined;
  #weight = 0;

  /**
   * An empty map.
   *
   * @throws {RangeError} When `maxEntries` is not a positive whole number.
   */
  constructor(options: BoundedMapOptions<K, V>) {
    const { maxEntries, maxWeight = Infinity, weigh, onLeave } = options;
    const isWhole = Number.isSafeInteger(maxEntries) || maxEntries === Infinity;
    if (!isWhole || maxEntries < 1) {
      throw new RangeError(
        `Cannot bound map: "${maxEntries}" is not a positive whole number`,
      );
    }
    this.#maxEntries = maxEntries;
    this.#maxWeight = maxWeight;
    this.#weigh = weigh ?? one;
    this.#onLeave = onLeave;
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** What all values weigh together. */
  get weight(): number {
    return this.#weight;
  }

  /** The value of a key, which counts as used now. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#link(entry);
    }
    return entry.value;
  }

  /** The value of a key, which does not count as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Whether there is a value for a key, which does not count as used. */
  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /**
   * Sets a value, which counts as used now, and evicts the least recently used
   * entries until the limits hold. Replacing the value of a key adds no entry.
   */
  set(key: K, value: V): void {
    const weight = this.#weigh(value);
    if (!(weight <= this.#maxWeight)) {
      this.delete(key);
      this.#onLeave?.(value, key);
      return;
    }
    const known = this.#entries.get(key);
    if (known === undefined) {
      // Reuse the object of the evicted entry: a full map allocates none.
      const isFull = this.size >= this.#maxEntries;
      const freed = isFull ? this.#oldest : undefined;
      if (freed !== undefined) this.#drop(freed);
      const entry = freed ??
        { key, value, weight, newer: undefined, older: undefined };
      entry.key = key;
      entry.value = value;
      entry.weight = weight;
      this.#entries.set(key, entry);
      this.#link(entry);
      this.#weight += weight;
    } else {
      const replaced = known.value;
      this.#weight += weight - known.weight;
      known.value = value;
      known.weight = weight;
      this.#unlink(known);
      this.#link(known);
      if (replaced !== value) this.#onLeave?.(replaced, key);
    }
    while (this.#weight > this.#maxWeight && this.#oldest !== undefined) {
      this.#drop(this.#oldest);
    }
  }

  /** Drops a key; returns whether it had a value. */
  delete(key: K): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#drop(entry);
    return true;
  }

  /** Drops everything. */
  clear(): void {
    while (this.#oldest !== undefined) this.#drop(this.#oldest);
  }

  /**
   * All entries, the least recently used one first. During the iteration only
   * the entry that was yielded last may be dropped; nothing else may change.
   */
  *[Symbol.iterator](): IterableIterator<[K, V]> {
    let entry = this.#oldest;
    while (entry !== undefined) {
      const next: Entry<K, V> | undefined = entry.newer;
      yield [entry.key, entry.value];
      entry = next;
    }
  }

  #drop(entry: Entry<K, V>): void {
    this.#entries.delete(entry.key);
    this.#unlink(entry);
    this.#weight -= entry.weight;
    this.#onLeave?.(entry.value, entry.key);
  }

  #unlink(entry: Entry<K, V>): void {
    const { newer, older } = entry;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    entry.newer = undefined;
    entry.older = undefined;
  }

  /** Makes an entry that is not linked the most recently used one. */
  #link(entry: Entry<K, V>): void {
    const newest = this.#newest;
    entry.older = newest;
    if (newest === undefined) this.#oldest = entry;
    else newest.newer = entry;
    this.#newest = entry;
  }
}

function one(): number {
  return 1;
}
