/**
 * Counters in the memory of this process.
 *
 * @module
 */

import { ByteMap } from "../../shared/byte_map.ts";
import { CounterKey } from "./counter_key.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterOperation,
  CounterStore,
} from "./counter_store.ts";
import { windowStartSeconds } from "./fixed_window.ts";
import {
  canStop,
  hitsWhenStopping,
  stoppableOperations,
} from "./stop_when_over.ts";

/** How a {@linkcode MemoryStore} is made. */
export interface MemoryStoreOptions {
  /**
   * Counters kept at most; about 150 to 400 bytes of memory each.
   *
   * @default 1_000_000
   */
  readonly maxKeys?: number;
  /**
   * What becomes of a hit on a new counter when all are kept and none may go:
   * "allow" answers as if it had been the first of its window, "refuse" as if
   * the limit had been used up before.
   *
   * @default "allow"
   */
  readonly onFull?: "allow" | "refuse";
  /**
   * Seed of the hash table; to be given in tests only.
   *
   * @default a random one
   */
  readonly seed?: number;
  /**
   * Is called when an operation found the store full, at most once a minute,
   * with the number of such operations since the start.
   *
   * @default nobody is told
   */
  readonly onBound?: (fullTotal: number) => void;
}

interface Counter {
  readonly windowSeconds: number;
  windowStart: number;
  count: number;
  limit: number;
}

/** Counters looked at for each operation to find those whose window is over. */
const SWEEP_PER_OPERATION = 2;
/** Counters looked at to make room when the store is full. */
const ROOM_SCAN = 64;
/** Between two calls of `onBound`. */
const WARN_SECONDS = 60;
/** A window that begins later than this from now was begun by a wrong clock. */
const MAX_AHEAD_SECONDS = 86_400;

/** Makes a store that keeps at most `maxKeys` counters in memory. */
export function createMemoryStore(
  options: MemoryStoreOptions = {},
): MemoryStore {
  return new MemoryStore(options);
}

/**
 * Keeps counters in memory and answers at once. Counts are exact within one
 * process; they stop at `Number.MAX_SAFE_INTEGER`.
 *
 * Counters whose window is over are found a few at a time, so no call waits
 * for a sweep. When `maxKeys` is reached, a new counter takes the place of one
 * whose window is over, else of the one farthest from its limit among the next
 * few; a counter with half its limit or more never has to go, so that nobody
 * gets rid of a spent limit by making up keys.
 *
 * When the clock goes back, the counter of the later window is used on: a
 * limit is not given twice. Only a window more than a day ahead is dropped.
 */
export class MemoryStore implements CounterStore {
  readonly #maxKeys: number;
  readonly #onFull: "allow" | "refuse";
  readonly #onBound: ((fullTotal: number) => void) | undefined;
  readonly #seed: number | undefined;
  readonly #key = new CounterKey();
  #counters: ByteMap<Counter>;
  #hand = 0;
  #fullTotal = 0;
  #warnedSeconds: number | undefined;

  /** Makes an empty store. */
  constructor(options: MemoryStoreOptions = {}) {
    this.#maxKeys = options.maxKeys ?? 1_000_000;
    this.#onFull = options.onFull ?? "allow";
    this.#onBound = options.onBound;
    this.#seed = options.seed;
    this.#counters = this.#emptyMap();
  }

  /** Number of counters kept, those of past windows included until swept. */
  get size(): number {
    return this.#counters.size;
  }

  /** Number of operations so far that found the store full. */
  get fullTotal(): number {
    return this.#fullTotal;
  }

  /** Applies a batch at once; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): CounterAnswer {
    const { operations, nowSeconds } = batch;
    const count = operations.length;
    this.#sweep(nowSeconds, count * SWEEP_PER_OPERATION);
    const results = new Array<number>(count);
    if (batch.stopWhenOver && canStop(operations)) {
      const hits = this.#hitsWhenStopping(batch);
      for (let i = 0; i < count; i++) {
        const operation = { ...operations[i]!, hits: hits[i]! };
        results[i] = this.#count(batch.keys, operation, nowSeconds);
      }
      return { kind: "counted", results };
    }
    for (let i = 0; i < count; i++) {
      results[i] = this.#count(batch.keys, operations[i]!, nowSeconds);
    }
    return { kind: "counted", results };
  }

  /** Always true. */
  isHealthy(): boolean {
    return true;
  }

  /** Does nothing: there is nothing to connect to. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Forgets all counters. */
  stop(): Promise<void> {
    this.#counters = this.#emptyMap();
    this.#hand = 0;
    return Promise.resolve();
  }

  #emptyMap(): ByteMap<Counter> {
    return new ByteMap(this.#seed === undefined ? {} : { seed: this.#seed });
  }

  #hitsWhenStopping(batch: CounterBatch): readonly number[] {
    const { keys, operations, nowSeconds } = batch;
    const before = operations.map((operation) =>
      this.#count(keys, { ...operation, hits: 0 }, nowSeconds)
    );
    return hitsWhenStopping(stoppableOperations(batch), before);
  }

  #count(
    keys: Uint8Array,
    operation: CounterOperation,
    nowSeconds: number,
  ): number {
    const { hits, limit, windowSeconds } = operation;
    const key = this.#key;
    key.write(keys, operation);
    const windowStart = windowStartSeconds(nowSeconds, windowSeconds);
    const counter = this.#counters.get(key.bytes, 0, key.end);
    if (counter !== undefined) {
      if (
        windowStart > counter.windowStart ||
        counter.windowStart - nowSeconds > MAX_AHEAD_SECONDS
      ) {
        counter.windowStart = windowStart;
        counter.count = 0;
      }
      if (hits !== 0) {
        counter.limit = limit;
        counter.count = saturate(counter.count + hits);
      }
      return counter.count;
    }
    // Looking, and giving back what nobody took, leave no counter behind.
    if (hits <= 0) return 0;
    const count = saturate(hits);
    if (
      this.#counters.size >= this.#maxKeys && !this.#makeRoom(nowSeconds)
    ) {
      this.#noteFull(nowSeconds);
      return this.#onFull === "allow" ? count : saturate(limit + hits);
    }
    this.#counters.set(key.bytes, 0, key.end, {
      windowSeconds,
      windowStart,
      count,
      limit,
    });
    return count;
  }

  /** Removes those of the next `looks` counters whose window is over. */
  #sweep(nowSeconds: number, looks: number): void {
    const counters = this.#counters;
    for (let look = 0; look < looks; look++) {
      if (this.#hand >= counters.size) this.#hand = 0;
      const counter = counters.valueAt(this.#hand);
      if (counter === undefined) return;
      // A removal puts another counter at this position: that one is next.
      if (isOver(counter, nowSeconds)) counters.deleteAt(this.#hand);
      else this.#hand++;
    }
  }

  /** Lets one counter go; false when none of those looked at may. */
  #makeRoom(nowSeconds: number): boolean {
    const counters = this.#counters;
    const looks = Math.min(ROOM_SCAN, counters.size);
    let farthest = -1;
    let lowestShare = 0.5;
    for (let look = 0; look < looks; look++) {
      if (this.#hand >= counters.size) this.#hand = 0;
      const counter = counters.valueAt(this.#hand)!;
      if (isOver(counter, nowSeconds)) return counters.deleteAt(this.#hand);
      const share = counter.limit > 0 ? counter.count / counter.limit : 1;
      if (share < lowestShare) {
        lowestShare = share;
        farthest = this.#hand;
      }
      this.#hand++;
    }
    return counters.deleteAt(farthest);
  }

  #noteFull(nowSeconds: number): void {
    this.#fullTotal++;
    if (
      this.#warnedSeconds !== undefined &&
      Math.abs(nowSeconds - this.#warnedSeconds) < WARN_SECONDS
    ) return;
    this.#warnedSeconds = nowSeconds;
    this.#onBound?.(this.#fullTotal);
  }
}

function isOver(counter: Counter, nowSeconds: number): boolean {
  return nowSeconds >= counter.windowStart + counter.windowSeconds;
}

function saturate(count: number): number {
  if (count < 0) return 0;
  return count > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : count;
}
