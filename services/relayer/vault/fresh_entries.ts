/**
 * A bounded cache of rows that others may change. It alone says for how long a
 * vault goes by what it has read.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyMs, type Timer } from "../../shared/clock.ts";

/** Options of {@linkcode FreshEntries}. */
interface FreshEntriesOptions<V> {
  /** Most entries that are kept. */
  readonly maxEntries: number;
  /**
   * For how many milliseconds an entry is kept from when its reading began;
   * without end where this process alone changes the rows.
   */
  readonly maxAgeMs: () => number;
  /** Tells the age, and sets the timer that drops what is too old. */
  readonly clock: Clock;
  /** Called with each value that is no longer kept. @default {() => {}} */
  readonly onLeave?: (value: V) => void;
}

interface Entry<V> {
  readonly value: V;
  readonly sinceMs: number;
}

/** A reading that is under way. */
export interface Reading {
  /** The name of what is read. */
  readonly name: string;
  /** Since when, in milliseconds of a clock that only increases. */
  readonly sinceMs: number;
  /** Whether it was dropped since: what is read then may be of before. */
  readonly isDropped: boolean;
}

/** How often entries are looked through within their age. */
const SWEEPS = 3;

/**
 * Keeps entries by name. An entry that is too old is never given. It is dropped
 * within a third of that age, so that no key stays in memory.
 */
export class FreshEntries<V> {
  readonly #options: FreshEntriesOptions<V>;
  readonly #entries: BoundedMap<string, Entry<V>>;
  readonly #readings = new Set<
    { -readonly [K in keyof Reading]: Reading[K] }
  >();
  #timer: Timer | undefined;

  /** Starts without entries. */
  constructor(options: FreshEntriesOptions<V>) {
    this.#options = options;
    const { maxEntries, onLeave } = options;
    this.#entries = new BoundedMap({
      maxEntries,
      ...(onLeave === undefined
        ? {}
        : { onLeave: ({ value }: Entry<V>) => onLeave(value) }),
    });
  }

  /** The entry of a name, unless it is too old. */
  get(name: string): V | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const maxAgeMs = this.#options.maxAgeMs();
    if (maxAgeMs === Infinity || this.#ageMs(entry) < maxAgeMs) {
      return entry.value;
    }
    this.#entries.delete(name);
    return undefined;
  }

  /** Keeps what was just written. */
  set(name: string, value: V): void {
    this.#keep(name, { value, sinceMs: this.#nowMs() });
  }

  /** Drops an entry, and what readings under way will find. */
  drop(name: string): void {
    this.#entries.delete(name);
    for (const reading of this.#readings) {
      if (reading.name === name) reading.isDropped = true;
    }
  }

  /**
   * Runs `work`, which reads an entry from the rows and calls
   * {@linkcode FreshEntries.keep} with it. Its age counts from here.
   */
  async read<T>(
    name: string,
    work: (reading: Reading) => Promise<T>,
  ): Promise<T> {
    const reading = { name, sinceMs: this.#nowMs(), isDropped: false };
    this.#readings.add(reading);
    try {
      return await work(reading);
    } finally {
      this.#readings.delete(reading);
    }
  }

  /** Keeps what a reading has found, which must not have been dropped. */
  keep({ name, sinceMs }: Reading, value: V): void {
    this.#keep(name, { value, sinceMs });
  }

  /** Drops everything. */
  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#entries.clear();
    for (const reading of this.#readings) reading.isDropped = true;
  }

  #keep(name: string, entry: Entry<V>): void {
    this.#entries.set(name, entry);
    this.#sweepLater();
  }

  #sweepLater(): void {
    const maxAgeMs = this.#options.maxAgeMs();
    if (maxAgeMs === Infinity || this.#timer !== undefined) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      for (const [name, entry] of this.#entries) {
        if (this.#ageMs(entry) >= maxAgeMs) this.#entries.delete(name);
      }
      if (this.#entries.size > 0) this.#sweepLater();
    }, maxAgeMs / SWEEPS);
  }

  #ageMs({ sinceMs }: Entry<V>): number {
    return this.#nowMs() - sinceMs;
  }

  #nowMs(): number {
    return steadyMs(this.#options.clock);
  }
}
