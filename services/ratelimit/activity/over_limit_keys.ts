/**
 * The counters that refuse most often now, in fixed memory: as the algorithm
 * Space Saving (A. Metwally, D. Agrawal, A. El Abbadi, 2005), on counts that
 * fade, and with several counters dropped at a time.
 *
 * @module
 */

import { ByteMap } from "../bytes/byte_map.ts";
import type { CounterOperation } from "../counters/counter_store.ts";
import type { OverLimitNote, OverLimitWatcher } from "../decision/decide.ts";
import { fixedStatPath } from "../decision/stat_path.ts";
import type { Rule } from "../rules/snapshot.ts";

/** A counter that refuses, or would without shadow mode. */
export interface OverLimitKey {
  /**
   * Path of its rule (`fixedStatPath()`); undefined for a limit that came with
   * a request.
   */
  readonly rule: string | undefined;
  /** The key in the store, without the start of its window. */
  readonly key: string;
  /** Refusals a minute, as a mean that fades with a minute. */
  readonly perMinute: number;
  /** By how much that may be too large. */
  readonly maxError: number;
}

/** Most counters that a thread tells of. */
export const MAX_KEYS_SENT = 100;
/** Counters that have a count of their own. */
const MAX_KEYS = 500;
/** Counters that are dropped at a time, those with the least counts. */
const DROPPED = 100;
/** Most bytes of a key; longer ones are left out. */
const MAX_KEY_BYTES = 512;
/** The counts fall to 1/e in this time. */
const FADE_MS = 60_000;
/** A count that has fallen below this is dropped. */
const LEAST = 0.05;
/** Refusals between two fadings that are all counted, and as many samples. */
const ALL_COUNTED = 200;
/** The same for calls whose keys are copied, as the store answers later. */
const ALL_COPIED = 300;
/** Least mean gap of the samples. */
const LEAST_GAP = 4;

interface Slot {
  readonly rule: Rule | undefined;
  readonly key: Uint8Array;
  count: number;
  error: number;
}

/** Counts refusals by counter. */
export class OverLimitKeys implements OverLimitWatcher {
  readonly #slots = new ByteMap<Slot>();
  readonly #refusals: Sampler;
  readonly #calls: Sampler;
  #fadedMs: number | undefined;
  /** The most that a counter which was dropped may have had. */
  #dropped = 0;

  /**
   * Makes an empty count.
   *
   * @param random Returns a number from 0 up to, not including, 1.
   */
  constructor(random: () => number = Math.random) {
    this.#refusals = new Sampler(ALL_COUNTED, random);
    this.#calls = new Sampler(ALL_COPIED, random);
  }

  /** Counts a refusal. */
  note(keys: Uint8Array, operation: CounterOperation, rule?: Rule): void {
    const weight = this.#refusals.take();
    if (weight > 0) this.#count(keys, operation, { rule, weight });
  }

  /** Copies the keys of a call that is answered later, of a sample. */
  keep(keys: Uint8Array, length: number): OverLimitNote | undefined {
    const weight = this.#calls.take();
    if (weight === 0) return undefined;
    const kept = keys.slice(0, length);
    return (operation, rule) => this.#count(kept, operation, { rule, weight });
  }

  /** Lets the counts fade; to be called about once a second. */
  fade(nowMs: number): void {
    const passedMs = nowMs - (this.#fadedMs ?? nowMs);
    const factor = Math.exp(-passedMs / FADE_MS);
    this.#fadedMs = nowMs;
    this.#dropped *= factor;
    this.#refusals.renew();
    this.#calls.renew();
    for (let position = this.#slots.size - 1; position >= 0; position--) {
      const slot = this.#slots.valueAt(position)!;
      slot.count *= factor;
      slot.error *= factor;
      if (slot.count < LEAST) this.#slots.deleteAt(position);
    }
  }

  /** Returns the counters that refuse most, the first of them first. */
  top(most: number): readonly OverLimitKey[] {
    const slots: Slot[] = [];
    for (let position = 0; position < this.#slots.size; position++) {
      slots.push(this.#slots.valueAt(position)!);
    }
    const decoder = new TextDecoder();
    return slots.sort((left, right) => right.count - left.count)
      .slice(0, most)
      .map(({ rule, key, count, error }) => ({
        rule: rule && fixedStatPath(rule),
        key: decoder.decode(key),
        perMinute: count,
        maxError: error,
      }));
  }

  #count(
    keys: Uint8Array,
    { keyStart, keyEnd }: CounterOperation,
    { rule, weight }: {
      readonly rule: Rule | undefined;
      readonly weight: number;
    },
  ): void {
    const known = this.#slots.get(keys, keyStart, keyEnd);
    if (known !== undefined) {
      known.count += weight;
      return;
    }
    if (keyEnd - keyStart > MAX_KEY_BYTES) return;
    if (this.#slots.size >= MAX_KEYS) this.#dropLeast();
    // This counter may have been one of those that were dropped.
    const error = this.#dropped;
    const key = keys.slice(keyStart, keyEnd);
    const slot = { rule, key, count: error + weight, error };
    this.#slots.set(keys, keyStart, keyEnd, slot);
  }

  #dropLeast(): void {
    const counts = new Float64Array(this.#slots.size);
    for (let position = 0; position < counts.length; position++) {
      counts[position] = this.#slots.valueAt(position)!.count;
    }
    const most = counts.sort()[DROPPED - 1]!;
    this.#dropped = Math.max(this.#dropped, most);
    let left = DROPPED;
    for (let position = counts.length - 1; left > 0; position--) {
      if (this.#slots.valueAt(position)!.count > most) continue;
      this.#slots.deleteAt(position);
      left--;
    }
  }
}

/**
 * Takes everything while there is little, and then samples at random, so that
 * an attack costs next to nothing.
 */
class Sampler {
  readonly #all: number;
  readonly #random: () => number;
  #left: number;
  #seen = 0;
  #gap = LEAST_GAP;
  #skipped = 0;

  constructor(all: number, random: () => number) {
    this.#all = all;
    this.#left = all;
    this.#random = random;
  }

  /** Returns how many of its kind the next one stands for; 0 to leave it out. */
  take(): number {
    this.#seen++;
    if (this.#left > 0) {
      this.#left--;
      return 1;
    }
    if (this.#skipped > 0) {
      this.#skipped--;
      return 0;
    }
    this.#skipped = Math.floor(this.#random() * (2 * this.#gap - 1));
    return this.#gap;
  }

  /** Begins the next period, in which as much is expected as in the last. */
  renew(): void {
    this.#gap = Math.max(LEAST_GAP, Math.ceil(this.#seen / this.#all));
    this.#left = this.#all;
    this.#seen = 0;
  }
}

/** Collects the counters that refuse most from all threads. */
export class OverLimitBoard {
  readonly #byThread = new Map<number, readonly OverLimitKey[]>();

  /** Replaces what a thread has found; an empty list after its end. */
  replace(thread: number, keys: readonly OverLimitKey[]): void {
    this.#byThread.set(thread, keys);
  }

  /** Returns the counters that refuse most, the first of them first. */
  list(): readonly OverLimitKey[] {
    const sums = new Map<string, OverLimitKey>();
    for (const one of [...this.#byThread.values()].flat()) {
      const id = `${one.rule ?? ""}\0${one.key}`;
      const before = sums.get(id) ?? { perMinute: 0, maxError: 0 };
      sums.set(id, {
        ...one,
        perMinute: before.perMinute + one.perMinute,
        maxError: before.maxError + one.maxError,
      });
    }
    return [...sums.values()]
      .sort((left, right) => right.perMinute - left.perMinute);
  }
}
