/**
 * Remembers counters that are over their limit, so that a client that keeps
 * knocking doesn't cost the store a call each time.
 *
 * @module
 */

import { ByteMap } from "../bytes/byte_map.ts";
import type { Counter, Gauge, Stats } from "../stats/stats.ts";
import {
  capacityOf,
  type CounterAnswer,
  type CounterBatch,
  type CounterOperation,
  type CounterResult,
  type CounterStore,
  type CounterVerdict,
} from "./counter_store.ts";
import {
  CounterKey,
  secondsUntilReset,
  windowStartSeconds,
} from "./fixed_window.ts";

/** How much is remembered, and how long. */
interface OverLimitMemoryOptions {
  /** Memory it may take, about. */
  readonly maxBytes: number;
  /**
   * How long a counter is remembered without asking again, at most to the end
   * of its window: so long may hits that another instance gave back go unseen.
   */
  readonly maxAgeSeconds: number;
  /** Gets `ratelimit.localcache.…`. */
  readonly stats: Stats;
  /**
   * Milliseconds that only go on, whatever the time of day is set to.
   *
   * @default performance.now
   */
  readonly monotonicMs?: () => number;
}

/** Where a counter is looked up. */
interface Place {
  /** The bytes the operation's key stands in. */
  readonly keys: Uint8Array;
  /** Time of the call. */
  readonly nowSeconds: number;
}

/** What was seen of a counter. */
type Seen =
  | {
    readonly kind: "count";
    readonly count: number;
    /** The window that was counted; another one has a counter of its own. */
    readonly windowStart: number;
  }
  /** A sliding window or token bucket had no room for one hit. */
  | {
    readonly kind: "wait";
    /** When it has, at the latest, by the monotonic clock. */
    readonly passesMs: number;
    /** With another limit it may have now. */
    readonly limit: number;
    readonly capacity: number;
  };

interface Entry {
  readonly seen: Seen;
  /** When it is forgotten, by the monotonic clock. */
  readonly endMs: number;
  readonly bytes: number;
}

/** What an entry takes beside its key. */
const ENTRY_BYTES = 64;
/** Entries looked at when there is no room, to find one that has ended. */
const ROOM_SCAN = 16;

/** Counts by counter, forgotten at the end of the window or before. */
class OverLimitMemory {
  readonly #maxBytes: number;
  readonly #maxAgeSeconds: number;
  readonly #monotonicMs: () => number;
  readonly #key = new CounterKey();
  readonly #entries = new ByteMap<Entry>();
  readonly #hits: Counter;
  readonly #misses: Counter;
  readonly #evictions: Counter;
  readonly #size: Gauge;
  #bytes = 0;
  #hand = 0;

  /** Remembers nothing yet. */
  constructor(options: OverLimitMemoryOptions) {
    this.#maxBytes = options.maxBytes;
    this.#maxAgeSeconds = options.maxAgeSeconds;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    const { stats } = options;
    this.#hits = stats.counter("ratelimit.localcache.hitCount");
    this.#misses = stats.counter("ratelimit.localcache.missCount");
    this.#evictions = stats.counter("ratelimit.localcache.evacuateCount");
    this.#size = stats.gauge("ratelimit.localcache.entryCount");
  }

  /** Number of counters remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /** The monotonic clock. */
  nowMs(): number {
    return this.#monotonicMs();
  }

  /** How an operation is refused; undefined when the store must be asked. */
  refusalOf(
    operation: CounterOperation,
    place: Place,
  ): CounterVerdict | undefined {
    const entry = this.#find(operation, place.keys);
    const nowMs = this.#monotonicMs();
    const isLive = entry !== undefined && nowMs < entry.endMs &&
      speaksOf(entry.seen, operation, place);
    (isLive ? this.#hits : this.#misses).add();
    if (!isLive) {
      if (entry !== undefined) this.#removeFound(entry);
      return undefined;
    }
    const { seen } = entry;
    if (seen.kind === "wait") {
      // More hits than one wait longer than is known.
      return operation.hits > 1 ? undefined : overVerdict(
        operation,
        Math.ceil((seen.passesMs - nowMs) / 1_000),
      );
    }
    // Another limit on the same counter may well be wider.
    return seen.count <= operation.limit ? undefined : overVerdict(
      operation,
      secondsUntilReset(place.nowSeconds, operation.windowSeconds),
    );
  }

  /** Remembers a count of a fixed window that is over its limit. */
  rememberCount(
    operation: CounterOperation,
    place: Place & { readonly count: number },
  ): void {
    const { keys, nowSeconds, count } = place;
    const leftSeconds = secondsUntilReset(nowSeconds, operation.windowSeconds);
    this.#remember(operation, {
      keys,
      seen: {
        kind: "count",
        count,
        windowStart: windowStartOf(operation, place),
      },
      endMs: this.#monotonicMs() + 1_000 * leftSeconds,
    });
  }

  /**
   * Remembers that not one hit passes for `waitMs`, as the store said when it
   * was asked at `askedMs`.
   */
  rememberWait(
    operation: CounterOperation,
    said: {
      readonly keys: Uint8Array;
      readonly waitMs: number;
      readonly askedMs: number;
    },
  ): void {
    const { keys, waitMs, askedMs } = said;
    this.#remember(operation, {
      keys,
      seen: {
        kind: "wait",
        // The wait was rounded down, and began before now.
        passesMs: this.#monotonicMs() + waitMs + 1,
        limit: operation.limit,
        capacity: capacityOf(operation),
      },
      endMs: askedMs + waitMs,
    });
  }

  #remember(
    operation: CounterOperation,
    from: {
      readonly keys: Uint8Array;
      readonly seen: Seen;
      readonly endMs: number;
    },
  ): void {
    const before = this.#find(operation, from.keys);
    const key = this.#key;
    const bytes = key.end + ENTRY_BYTES;
    if (before === undefined) {
      if (!this.#makeRoom(bytes)) return;
      this.#bytes += bytes;
    }
    const latestMs = this.#monotonicMs() + 1_000 * this.#maxAgeSeconds;
    this.#entries.set(key.bytes, 0, key.end, {
      seen: from.seen,
      endMs: Math.min(from.endMs, latestMs),
      bytes,
    });
    this.#size.set(this.#entries.size);
  }

  /** Forgets a counter; nothing happens when it isn't remembered. */
  forget(operation: CounterOperation, keys: Uint8Array): void {
    if (this.#entries.size === 0) return;
    const entry = this.#find(operation, keys);
    if (entry !== undefined) this.#removeFound(entry);
  }

  /** Leaves the key of the operation in {@linkcode #key}. */
  #find(operation: CounterOperation, keys: Uint8Array): Entry | undefined {
    this.#key.write(keys, operation);
    return this.#entries.get(this.#key.bytes, 0, this.#key.end);
  }

  #removeFound(entry: Entry): void {
    this.#entries.delete(this.#key.bytes, 0, this.#key.end);
    this.#bytes -= entry.bytes;
    this.#size.set(this.#entries.size);
  }

  /** Lets entries go until `bytes` fit: ended ones first, then whichever. */
  #makeRoom(bytes: number): boolean {
    if (bytes > this.#maxBytes) return false;
    const nowMs = this.#monotonicMs();
    while (this.#bytes + bytes > this.#maxBytes) {
      const chosen = this.#chooseVictim(nowMs);
      this.#bytes -= this.#entries.valueAt(chosen)!.bytes;
      this.#entries.deleteAt(chosen);
      this.#evictions.add();
    }
    return true;
  }

  #chooseVictim(nowMs: number): number {
    const size = this.#entries.size;
    const first = this.#hand % size;
    for (let look = 0; look < Math.min(ROOM_SCAN, size); look++) {
      const at = (first + look) % size;
      if (this.#entries.valueAt(at)!.endMs <= nowMs) {
        this.#hand = at;
        return at;
      }
    }
    this.#hand = first + 1;
    return first;
  }
}

/** Whether what was seen is about the counter that an operation touches. */
function speaksOf(
  seen: Seen,
  operation: CounterOperation,
  place: Place,
): boolean {
  return seen.kind === "count"
    ? seen.windowStart === windowStartOf(operation, place)
    : seen.limit === operation.limit &&
      seen.capacity === capacityOf(operation);
}

function windowStartOf(operation: CounterOperation, place: Place): number {
  return windowStartSeconds(place.nowSeconds, operation.windowSeconds);
}

/** How the cache is made. */
interface OverLimitCacheOptions extends OverLimitMemoryOptions {
  /** The store behind it. */
  readonly store: CounterStore;
}

/** What the cache knows of a batch. */
interface Known {
  /** For each operation its result, undefined where the store must be asked. */
  readonly results: readonly (CounterResult | undefined)[];
  /** How many are known. */
  readonly count: number;
  /** True when one that takes hits is known to be over. */
  readonly isOver: boolean;
}

/**
 * A store in front of a store. Counters that are known to be over their limit
 * are answered at once and not incremented; the rest of the batch goes to the
 * store. Hits given back through this instance make it forget the counter.
 */
export class OverLimitCache implements CounterStore {
  readonly #store: CounterStore;
  readonly #memory: OverLimitMemory;
  /** Grows with each batch that gives hits back. */
  #refunds = 0;

  /** An empty cache. */
  constructor(options: OverLimitCacheOptions) {
    this.#store = options.store;
    this.#memory = new OverLimitMemory(options);
  }

  /** Number of counters remembered. */
  get size(): number {
    return this.#memory.size;
  }

  /**
   * Answers what it knows, asks for the rest; see {@linkcode
   * CounterStore.apply}.
   */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const known = this.#knownOver(batch);
    if (known.count === batch.operations.length) {
      return { kind: "counted", results: allOf(known.results) };
    }
    const forwarded = this.#rest(batch, known);
    const refunds = this.#refunds;
    const askedMs = this.#memory.nowMs();
    const answer = this.#store.apply(forwarded);
    if (!(answer instanceof Promise)) {
      return this.#merged(answer, { known, forwarded, refunds, askedMs });
    }
    // The caller may write over the keys while the store works.
    const kept = { ...forwarded, keys: forwarded.keys.slice() };
    return answer.then((settled) =>
      this.#merged(settled, { known, forwarded: kept, refunds, askedMs })
    );
  }

  /** As the store says. */
  isHealthy(): boolean {
    return this.#store.isHealthy();
  }

  /** Starts the store. */
  start(): Promise<void> {
    return this.#store.start();
  }

  /** Stops the store. */
  stop(): Promise<void> {
    return this.#store.stop();
  }

  #knownOver(batch: CounterBatch): Known {
    const { operations, keys, nowSeconds } = batch;
    const results = new Array<CounterResult | undefined>(operations.length);
    let count = 0;
    let isOver = false;
    for (const [index, operation] of operations.entries()) {
      if (operation.hits < 0) {
        this.#memory.forget(operation, keys);
        this.#refunds++;
        continue;
      }
      const refusal = this.#memory.refusalOf(operation, { keys, nowSeconds });
      if (refusal === undefined) continue;
      results[index] = refusal;
      count++;
      isOver ||= operation.hits > 0;
    }
    return { results, count, isOver };
  }

  /** The operations that the store must see. */
  #rest(batch: CounterBatch, known: Known): CounterBatch {
    if (known.count === 0) return batch;
    const operations = batch.operations.filter((_, index) =>
      known.results[index] === undefined
    );
    const onlyLook = batch.stopWhenOver === true && known.isOver;
    return {
      ...batch,
      operations: onlyLook
        ? operations.map((operation) =>
          operation.hits > 0 ? { ...operation, hits: 0 } : operation
        )
        : operations,
    };
  }

  #merged(
    answer: CounterAnswer,
    from: {
      readonly known: Known;
      readonly forwarded: CounterBatch;
      readonly refunds: number;
      readonly askedMs: number;
    },
  ): CounterAnswer {
    if (answer.kind === "unavailable") return answer;
    const { known, forwarded, refunds, askedMs } = from;
    const { keys, nowSeconds } = forwarded;
    for (const [index, operation] of forwarded.operations.entries()) {
      const result = answer.results[index]!;
      if (isWithin(result, operation)) {
        this.#memory.forget(operation, keys);
        // After a refund the answers to what was sent before it are old news.
      } else if (refunds === this.#refunds) {
        this.#remember(operation, { keys, nowSeconds, result, askedMs });
      }
    }
    if (known.count === 0) return answer;
    let next = 0;
    return {
      kind: "counted",
      results: Array.from(
        known.results,
        (result) => result ?? answer.results[next++]!,
      ),
    };
  }

  #remember(
    operation: CounterOperation,
    from: Place & {
      readonly result: CounterResult;
      readonly askedMs: number;
    },
  ): void {
    const { keys, nowSeconds, result, askedMs } = from;
    if (typeof result === "number") {
      this.#memory.rememberCount(operation, {
        keys,
        nowSeconds,
        count: result,
      });
    } else if (result.waitMs !== undefined && operation.hits <= 1) {
      const { waitMs } = result;
      this.#memory.rememberWait(operation, { keys, waitMs, askedMs });
    }
  }
}

function isWithin(result: CounterResult, { limit }: CounterOperation): boolean {
  return typeof result === "number" ? result <= limit : !result.isOver;
}

function overVerdict(
  operation: CounterOperation,
  resetSeconds: number,
): CounterVerdict {
  return {
    isOver: true,
    hitsOver: operation.hits,
    remaining: 0,
    resetSeconds,
    isFromCache: true,
  };
}

function allOf(
  results: readonly (CounterResult | undefined)[],
): CounterResult[] {
  return results.filter((result) => result !== undefined);
}
