/**
 * A store that keeps its counters in the memory of this process.
 *
 * @module
 */

import {
  canStop,
  type CounterAnswer,
  type CounterBatch,
  type CounterOperation,
  type CounterResult,
  type CounterStore,
  type CounterVerdict,
  countSeen,
  getCapacity,
  hitsWhenStopping,
  stoppableOperations,
} from "./counter_store.ts";
import { CounterTable, type SharedCounters } from "./counter_table.ts";
import { windowStartSeconds } from "./fixed_window.ts";
import type { SharedLock } from "./shared_lock.ts";
import { SlidingWindow } from "./sliding_window.ts";
import { TokenBucket } from "./token_bucket.ts";

/** How a {@linkcode MemoryStore} is made. */
interface MemoryStoreOptions {
  /**
   * Most counters that are kept. A counter with a key of 60 bytes takes about
   * 150 bytes of memory, one of a sliding window up to 1,000.
   *
   * @default 1_000_000
   */
  readonly maxKeys?: number;
  /**
   * What happens to a hit on a new counter when the store is full and no
   * counter may be evicted: "allow" answers as if it had been the first of its
   * window, "refuse" as if the limit had been used up before.
   *
   * @default "allow"
   */
  readonly onFull?: "allow" | "refuse";
  /**
   * Seed of the hash table; set in tests only.
   *
   * @default a random one
   */
  readonly seed?: number;
  /**
   * Called when an operation found the store full, at most once a minute, with
   * the number of such operations since the start.
   *
   * @default not reported
   */
  readonly onBound?: (fullTotal: number) => void;
  /**
   * Returns the milliseconds of a clock that never goes back, whatever the time
   * of day is set to.
   *
   * @default performance.now
   */
  readonly monotonicMs?: () => number;
  /**
   * Counters that other threads use, too. `maxKeys` and `seed` are then those
   * of the shared counters, and the monotonic clock must be about the same on
   * all threads.
   *
   * @default counters of its own
   */
  readonly shared?: SharedTable | undefined;
}

/**
 * A table of counters that several threads use, with the lock by which they
 * take turns.
 */
export interface SharedTable {
  /** The counters. */
  readonly counters: SharedCounters;
  /** The lock of this thread. */
  readonly lock: SharedLock;
}

/** The time at which a batch is applied. */
interface Moment {
  /** The time of day in whole Unix seconds. */
  readonly nowSeconds: number;
  /** Milliseconds of the monotonic clock. */
  readonly monotonicMs: number;
}

/**
 * Counters that each operation looks at, to remove those whose window is over.
 */
const SWEEP_PER_OPERATION = 2;
/** Counters looked at to make room when the store is full. */
const ROOM_SCAN = 64;
/** Least seconds between two calls of `onBound`. */
const WARN_SECONDS = 60;

/**
 * Keeps counters in memory and answers at once. Counts are exact within one
 * process, on all threads that share them; they stop at
 * `Number.MAX_SAFE_INTEGER`.
 *
 * Counters whose window is over are found a few at a time, so no call waits for
 * a sweep. When `maxKeys` is reached, a new counter takes the place of one
 * whose window is over, else of the one farthest from its limit among the next
 * few; a counter with half its limit or more is never evicted, so that no
 * client gets rid of a spent limit by making up keys.
 *
 * When the clock goes back, the counter of the later window stays in use, so
 * that a limit is not given twice; but no counter outlives the length of its
 * window, by a clock that is never set. Sliding windows and token buckets use
 * that clock only.
 */
export class MemoryStore implements CounterStore {
  readonly #maxKeys: number;
  readonly #onFull: "allow" | "refuse";
  readonly #onBound: ((fullTotal: number) => void) | undefined;
  readonly #seed: number | undefined;
  readonly #monotonicMs: () => number;
  readonly #shared: SharedTable | undefined;
  // Paced counters are loaded from the table into these, and saved back.
  readonly #window = new SlidingWindow();
  readonly #bucket = new TokenBucket();
  #counters: CounterTable;
  #hand = 0;
  #fullTotal = 0;
  #warnedSeconds: number | undefined;

  /** Makes an empty store. */
  constructor(options: MemoryStoreOptions = {}) {
    this.#shared = options.shared;
    this.#maxKeys = options.shared?.counters.maxKeys ?? options.maxKeys ??
      1_000_000;
    this.#onFull = options.onFull ?? "allow";
    this.#onBound = options.onBound;
    this.#seed = options.seed;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#counters = new CounterTable({
      seed: this.#seed,
      shared: options.shared?.counters,
    });
  }

  /** Number of counters kept, including those of past windows until a sweep. */
  get size(): number {
    return this.#counters.size;
  }

  /** Number of operations so far that found the store full. */
  get fullTotal(): number {
    return this.#fullTotal;
  }

  /** Applies a batch at once; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): CounterAnswer {
    const lock = this.#shared?.lock;
    if (lock === undefined) return this.#apply(batch);
    lock.acquire();
    try {
      return this.#apply(batch);
    } finally {
      lock.release();
    }
  }

  #apply(batch: CounterBatch): CounterAnswer {
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

  /** Forgets all counters, unless other threads still use them. */
  stop(): Promise<void> {
    if (this.#shared !== undefined) return Promise.resolve();
    this.#counters = new CounterTable({ seed: this.#seed });
    this.#hand = 0;
    return Promise.resolve();
  }

  #hitsWhenStopping(batch: CounterBatch, moment: Moment): readonly number[] {
    const before = batch.operations.map((operation) => {
      const look = { ...operation, hits: 0 };
      if (operation.algorithm !== "fixed_window") {
        return countSeen(this.#pace(batch.keys, look, moment), operation);
      }
      const position = this.#find(batch.keys, operation, moment);
      return position < 0 ? 0 : this.#counters.countAt(position);
    });
    return hitsWhenStopping(stoppableOperations(batch), before);
  }

  #count(
    keys: Uint8Array,
    operation: CounterOperation,
    moment: Moment,
  ): CounterResult {
    const { hits, limit, windowSeconds } = operation;
    if (operation.algorithm !== "fixed_window") {
      return this.#pace(keys, operation, moment);
    }
    const position = this.#find(keys, operation, moment);
    if (position < 0) return this.#begin(operation, moment);
    const counters = this.#counters;
    let count = counters.countAt(position);
    if (hits !== 0) {
      count = saturate(count + hits);
      counters.setLimit(position, limit);
      counters.setCount(position, count);
    }
    return counters.secondsToEndAt(position, moment.nowSeconds) > windowSeconds
      ? verdictAhead(operation, {
        count,
        leftMs: counters.endMsAt(position) - moment.monotonicMs,
      })
      : count;
  }

  /** Applies an operation on a sliding window or token bucket. */
  #pace(
    keys: Uint8Array,
    operation: CounterOperation,
    moment: Moment,
  ): CounterVerdict {
    const counters = this.#counters;
    const position = counters.find(keys, operation);
    const nowMicros = toMicros(moment);
    const limit = getCapacity(operation);
    const paced = this.#pickPaced(operation.algorithm);
    if (position >= 0) {
      counters.loadPaced(position, paced);
      const verdict = paced.apply(operation, nowMicros);
      counters.setLimit(position, limit);
      counters.savePaced(position, paced);
      return verdict;
    }
    paced.reset();
    const verdict = paced.apply(operation, nowMicros);
    if (operation.hits <= 0 || verdict.isOver) return verdict;
    if (!this.#hasRoom(moment)) {
      this.#noteFull(moment.nowSeconds);
      if (this.#onFull === "allow") return verdict;
      paced.apply({ ...operation, hits: verdict.remaining }, nowMicros);
      return paced.apply(operation, nowMicros);
    }
    const added = counters.add();
    counters.setLimit(added, limit);
    counters.savePaced(added, paced);
    return verdict;
  }

  #pickPaced(
    algorithm: CounterOperation["algorithm"],
  ): SlidingWindow | TokenBucket {
    return algorithm === "sliding_window" ? this.#window : this.#bucket;
  }

  /**
   * Returns the position of an operation's counter, or -1. A counter whose
   * window is over is set to 0 and begins the window of this moment.
   */
  #find(
    keys: Uint8Array,
    operation: CounterOperation,
    moment: Moment,
  ): number {
    const counters = this.#counters;
    const position = counters.find(keys, operation);
    if (position >= 0 && hasEnded(counters, position, moment)) {
      counters.setCount(position, 0);
      beginWindow(counters, position, moment);
    }
    return position;
  }

  /**
   * Adds a counter for the operation that was looked for last; returns its
   * count.
   */
  #begin(operation: CounterOperation, moment: Moment): number {
    const { hits, limit } = operation;
    // A look, or a refund of hits that were never taken, leaves no counter
    // behind.
    if (hits <= 0) return 0;
    const count = saturate(hits);
    if (!this.#hasRoom(moment)) {
      this.#noteFull(moment.nowSeconds);
      return this.#onFull === "allow" ? count : saturate(limit + hits);
    }
    this.#add(count, operation, moment);
    return count;
  }

  #add(count: number, { limit }: CounterOperation, moment: Moment): number {
    const counters = this.#counters;
    const position = counters.add();
    counters.setCount(position, count);
    counters.setLimit(position, limit);
    beginWindow(counters, position, moment);
    return position;
  }

  /**
   * Looks at the next `looks` counters and removes those whose window is over.
   */
  #sweep(moment: Moment, looks: number): void {
    const counters = this.#counters;
    for (let look = 0; look < looks; look++) {
      if (this.#hand >= counters.size) this.#hand = 0;
      if (counters.size === 0) return;
      // A removal moves another counter to this position, which is looked at
      // next.
      if (hasEnded(counters, this.#hand, moment)) counters.remove(this.#hand);
      else this.#hand++;
    }
  }

  /** Evicts one counter; false when none of those looked at may be evicted. */
  #makeRoom(moment: Moment): boolean {
    const counters = this.#counters;
    const looks = Math.min(ROOM_SCAN, counters.size);
    let farthest = -1;
    let lowestShare = 0.5;
    for (let look = 0; look < looks; look++) {
      if (this.#hand >= counters.size) this.#hand = 0;
      if (hasEnded(counters, this.#hand, moment)) {
        counters.remove(this.#hand);
        return true;
      }
      const share = this.#computeShare(this.#hand, moment);
      if (share < lowestShare) {
        lowestShare = share;
        farthest = this.#hand;
      }
      this.#hand++;
    }
    if (farthest < 0) return false;
    counters.remove(farthest);
    return true;
  }

  /** True when there is room for one more counter, or room could be made. */
  #hasRoom(moment: Moment): boolean {
    return !this.#isFull || (this.#makeRoom(moment) && !this.#isFull);
  }

  get #isFull(): boolean {
    return this.#counters.size >= this.#maxKeys || !this.#counters.hasRoom;
  }

  /** Returns the share of its limit that a counter has used up. */
  #computeShare(position: number, moment: Moment): number {
    const counters = this.#counters;
    const limit = counters.limitAt(position);
    if (limit <= 0) return 1;
    const algorithm = counters.pacedAlgorithmAt(position);
    if (algorithm === undefined) return counters.countAt(position) / limit;
    // A new object: an operation is being applied with the store's own.
    const paced = createPaced(algorithm);
    counters.loadPaced(position, paced);
    return paced.usedAt(toMicros(moment)) / limit;
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

/**
 * Returns the monotonic time in whole microseconds, as paced counters take it.
 */
function toMicros({ monotonicMs }: Moment): number {
  return Math.round(monotonicMs * 1_000);
}

function createPaced(
  algorithm: CounterOperation["algorithm"],
): SlidingWindow | TokenBucket {
  return algorithm === "sliding_window"
    ? new SlidingWindow()
    : new TokenBucket();
}

/** Begins the window of this moment on a counter. */
function beginWindow(
  counters: CounterTable,
  position: number,
  { nowSeconds, monotonicMs }: Moment,
): void {
  const windowSeconds = counters.windowSecondsAt(position);
  counters.setEnd(
    position,
    windowStartSeconds(nowSeconds, windowSeconds) + windowSeconds,
    monotonicMs + windowSeconds * 1_000,
  );
}

/**
 * True when a counter's window is over, by the time of day or because its
 * length has passed; for a paced counter, when it is as good as new.
 */
function hasEnded(
  counters: CounterTable,
  position: number,
  moment: Moment,
): boolean {
  if (counters.pacedAlgorithmAt(position) !== undefined) {
    return toMicros(moment) >= counters.wholeAtMicrosAt(position);
  }
  return counters.secondsToEndAt(position, moment.nowSeconds) <= 0 ||
    moment.monotonicMs >= counters.endMsAt(position);
}

/**
 * Returns the verdict of a counter whose window has not begun by the time of
 * day, which was set back: the end of the window is measured by the monotonic
 * clock.
 */
function verdictAhead(
  { hits, limit }: CounterOperation,
  { count, leftMs }: { readonly count: number; readonly leftMs: number },
): CounterResult {
  const over = Math.max(0, count - limit);
  return {
    isOver: over > 0,
    hitsOver: Math.min(Math.max(0, hits), over),
    remaining: Math.max(0, limit - count),
    resetSeconds: Math.ceil(leftMs / 1_000),
  };
}

/** Bounds a count to the numbers that are counted exactly. */
function saturate(count: number): number {
  if (count < 0) return 0;
  return count > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : count;
}
