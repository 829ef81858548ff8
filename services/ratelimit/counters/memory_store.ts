/**
 * Counters in the memory of this process.
 *
 * @module
 */

import { ByteMap } from "../bytes/byte_map.ts";
import {
  canStop,
  capacityOf,
  type CounterAnswer,
  type CounterBatch,
  type CounterOperation,
  type CounterResult,
  type CounterStore,
  type CounterVerdict,
  countSeen,
  hitsWhenStopping,
  stoppableOperations,
} from "./counter_store.ts";
import { CounterKey, windowStartSeconds } from "./fixed_window.ts";
import {
  hasEnded,
  type MemoryCounter,
  microsOf,
  type Moment,
  saturate,
  shareOf,
  verdictAhead,
} from "./memory_counter.ts";
import { SlidingWindow } from "./sliding_window.ts";
import { TokenBucket } from "./token_bucket.ts";

/** How a {@linkcode MemoryStore} is made. */
interface MemoryStoreOptions {
  /**
   * Counters kept at most; about 150 to 400 bytes of memory each, a sliding
   * window up to 1,000.
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
   * @default not reported
   */
  readonly onBound?: (fullTotal: number) => void;
  /**
   * Milliseconds that only go on, whatever the time of day is set to.
   *
   * @default performance.now
   */
  readonly monotonicMs?: () => number;
}

/** Counters looked at for each operation to find those whose window is over. */
const SWEEP_PER_OPERATION = 2;
/** Counters looked at to make room when the store is full. */
const ROOM_SCAN = 64;
/** Between two calls of `onBound`. */
const WARN_SECONDS = 60;

/**
 * Keeps counters in memory and answers at once. Counts are exact within one
 * process; they stop at `Number.MAX_SAFE_INTEGER`.
 *
 * Counters whose window is over are found a few at a time, so no call waits
 * for a sweep. When `maxKeys` is reached, a new counter takes the place of one
 * whose window is over, else of the one farthest from its limit among the next
 * few; a counter with half its limit or more is never evicted, so that no
 * client gets rid of a spent limit by making up keys.
 *
 * When the clock goes back, the counter of the later window is used on, so that
 * a limit is not given twice; but no counter outlives the length of its window,
 * by a clock that is never set. Sliding windows and token buckets know that
 * clock only.
 */
export class MemoryStore implements CounterStore {
  readonly #maxKeys: number;
  readonly #onFull: "allow" | "refuse";
  readonly #onBound: ((fullTotal: number) => void) | undefined;
  readonly #seed: number | undefined;
  readonly #monotonicMs: () => number;
  readonly #key = new CounterKey();
  #counters: ByteMap<MemoryCounter>;
  #hand = 0;
  #fullTotal = 0;
  #warnedSeconds: number | undefined;

  /** Makes an empty store. */
  constructor(options: MemoryStoreOptions = {}) {
    this.#maxKeys = options.maxKeys ?? 1_000_000;
    this.#onFull = options.onFull ?? "allow";
    this.#onBound = options.onBound;
    this.#seed = options.seed;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
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
    const { keys, operations, nowSeconds } = batch;
    const count = operations.length;
    const moment = { nowSeconds, monotonicMs: this.#monotonicMs() };
    this.#sweep(moment, count * SWEEP_PER_OPERATION);
    const results = new Array<CounterResult>(count);
    if (batch.stopWhenOver && canStop(operations)) {
      const hits = this.#hitsWhenStopping(batch, moment);
      for (let i = 0; i < count; i++) {
        const operation = { ...operations[i]!, hits: hits[i]! };
        results[i] = this.#count(keys, operation, moment);
      }
      return { kind: "counted", results };
    }
    for (let i = 0; i < count; i++) {
      results[i] = this.#count(keys, operations[i]!, moment);
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

  #emptyMap(): ByteMap<MemoryCounter> {
    return new ByteMap(this.#seed === undefined ? {} : { seed: this.#seed });
  }

  #hitsWhenStopping(batch: CounterBatch, moment: Moment): readonly number[] {
    const before = batch.operations.map((operation) => {
      const look = { ...operation, hits: 0 };
      return operation.algorithm === "fixed_window"
        ? this.#find(batch.keys, operation, moment)?.count ?? 0
        : countSeen(this.#pace(batch.keys, look, moment), operation);
    });
    return hitsWhenStopping(stoppableOperations(batch), before);
  }

  #count(
    keys: Uint8Array,
    operation: CounterOperation,
    moment: Moment,
  ): CounterResult {
    const { hits, limit } = operation;
    if (operation.algorithm !== "fixed_window") {
      return this.#pace(keys, operation, moment);
    }
    const counter = this.#find(keys, operation, moment);
    if (counter === undefined) return this.#begin(operation, moment);
    if (hits !== 0) {
      counter.limit = limit;
      counter.count = saturate(counter.count + hits);
    }
    return counter.windowStart > moment.nowSeconds
      ? verdictAhead(counter, operation, moment)
      : counter.count;
  }

  /** Applies an operation of a sliding window or token bucket. */
  #pace(
    keys: Uint8Array,
    operation: CounterOperation,
    moment: Moment,
  ): CounterVerdict {
    const key = this.#key;
    key.write(keys, operation);
    const counter = this.#counters.get(key.bytes, 0, key.end);
    const nowMicros = microsOf(moment);
    const limit = capacityOf(operation);
    if (counter?.paced !== undefined) {
      counter.limit = limit;
      return counter.paced.apply(operation, nowMicros);
    }
    const paced = operation.algorithm === "sliding_window"
      ? new SlidingWindow()
      : new TokenBucket();
    const verdict = paced.apply(operation, nowMicros);
    if (operation.hits <= 0 || verdict.isOver) return verdict;
    if (this.#counters.size >= this.#maxKeys && !this.#makeRoom(moment)) {
      this.#noteFull(moment.nowSeconds);
      if (this.#onFull === "allow") return verdict;
      paced.apply({ ...operation, hits: verdict.remaining }, nowMicros);
      return paced.apply(operation, nowMicros);
    }
    this.#counters.set(key.bytes, 0, key.end, {
      windowSeconds: operation.windowSeconds,
      windowStart: 0,
      begunMs: moment.monotonicMs,
      count: 0,
      limit,
      paced,
    });
    return verdict;
  }

  /**
   * The counter of an operation, emptied when its window is over. Leaves the
   * counter's key in {@linkcode #key}.
   */
  #find(
    keys: Uint8Array,
    operation: CounterOperation,
    moment: Moment,
  ): MemoryCounter | undefined {
    const key = this.#key;
    key.write(keys, operation);
    const counter = this.#counters.get(key.bytes, 0, key.end);
    if (counter !== undefined && hasEnded(counter, moment)) {
      counter.windowStart = windowStartSeconds(
        moment.nowSeconds,
        operation.windowSeconds,
      );
      counter.begunMs = moment.monotonicMs;
      counter.count = 0;
    }
    return counter;
  }

  /** Makes a counter for the key in {@linkcode #key}. */
  #begin(operation: CounterOperation, moment: Moment): number {
    const { hits, limit, windowSeconds } = operation;
    // Looking, and giving back what was never taken, leave no counter behind.
    if (hits <= 0) return 0;
    const count = saturate(hits);
    if (this.#counters.size >= this.#maxKeys && !this.#makeRoom(moment)) {
      this.#noteFull(moment.nowSeconds);
      return this.#onFull === "allow" ? count : saturate(limit + hits);
    }
    this.#counters.set(this.#key.bytes, 0, this.#key.end, {
      windowSeconds,
      windowStart: windowStartSeconds(moment.nowSeconds, windowSeconds),
      begunMs: moment.monotonicMs,
      count,
      limit,
      paced: undefined,
    });
    return count;
  }

  /** Removes those of the next `looks` counters whose window is over. */
  #sweep(moment: Moment, looks: number): void {
    const counters = this.#counters;
    for (let look = 0; look < looks; look++) {
      if (this.#hand >= counters.size) this.#hand = 0;
      const counter = counters.valueAt(this.#hand);
      if (counter === undefined) return;
      // A removal puts another counter at this position: that one is next.
      if (hasEnded(counter, moment)) counters.deleteAt(this.#hand);
      else this.#hand++;
    }
  }

  /** Lets one counter go; false when none of those looked at may. */
  #makeRoom(moment: Moment): boolean {
    const counters = this.#counters;
    const looks = Math.min(ROOM_SCAN, counters.size);
    let farthest = -1;
    let lowestShare = 0.5;
    for (let look = 0; look < looks; look++) {
      if (this.#hand >= counters.size) this.#hand = 0;
      const counter = counters.valueAt(this.#hand)!;
      if (hasEnded(counter, moment)) return counters.deleteAt(this.#hand);
      const share = shareOf(counter, moment);
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
