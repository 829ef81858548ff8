/**
 * Remembers counters that are over their limits: counts of fixed windows, and
 * for how long a sliding window or token bucket admits nothing.
 *
 * @module
 */

import { ByteMap } from "../bytes/byte_map.ts";
import type { Gauge, Stats } from "../stats/stats.ts";
import {
  type CounterOperation,
  type CounterVerdict,
  getCapacity,
} from "./counter_store.ts";
import {
  CounterKey,
  secondsUntilReset,
  windowStartSeconds,
} from "./fixed_window.ts";

/** How much is remembered, and for how long. */
export interface OverLimitMemoryOptions {
  /** Most bytes of memory that the entries take, approximately. */
  readonly maxBytes: number;
  /**
   * Seconds that a counter is remembered without asking the store again, at
   * most to the end of its window. Hits that another instance gives back may go
   * unseen for that long.
   */
  readonly maxAgeSeconds: number;
  /** Gets the statistics `ratelimit.localcache.…`. */
  readonly stats: Stats;
  /**
   * Returns the milliseconds of a clock that never goes back, whatever the time
   * of day is set to.
   *
   * @default performance.now
   */
  readonly monotonicMs?: () => number;
}

/** The bytes and the time by which a counter is looked up. */
export interface Place {
  /** The bytes that contain the operation's key. */
  readonly keys: Uint8Array;
  /** Time of the call in Unix seconds. */
  readonly nowSeconds: number;
}

/** What was seen of a counter. */
type Seen =
  | {
    readonly kind: "count";
    readonly count: number;
    /**
     * Start of the window that was counted; another window has its own counter.
     */
    readonly windowStart: number;
  }
  /** A sliding window or token bucket had no room for one hit. */
  | {
    readonly kind: "wait";
    /**
     * When it has room at the latest, in milliseconds of the monotonic clock.
     */
    readonly passesMs: number;
    /** The limit it had then; with another limit it may have room now. */
    readonly limit: number;
    readonly capacity: number;
  };

interface Entry {
  readonly seen: Seen;
  /** When the entry is forgotten, in milliseconds of the monotonic clock. */
  readonly endMs: number;
  readonly bytes: number;
}

/** Bytes that an entry takes beside its key. */
const ENTRY_BYTES = 112;
/** Entries that are looked at for one that has ended, when there is no room. */
const ROOM_SCAN = 16;

/** Remembers refusals by counter, until the end of the window or earlier. */
export class OverLimitMemory {
  readonly #maxBytes: number;
  readonly #maxAgeSeconds: number;
  readonly #monotonicMs: () => number;
  readonly #key = new CounterKey();
  readonly #entries = new ByteMap<Entry>();
  readonly #figures: CacheFigures;
  #bytes = 0;
  #hand = 0;

  /** Starts without counters. */
  constructor(options: OverLimitMemoryOptions) {
    this.#maxBytes = options.maxBytes;
    this.#maxAgeSeconds = options.maxAgeSeconds;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#figures = new CacheFigures(options.stats);
  }

  /** Number of counters remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the milliseconds of the monotonic clock. */
  nowMs(): number {
    return this.#monotonicMs();
  }

  /**
   * Returns the refusal of an operation; undefined when the store must be
   * asked.
   */
  findRefusal(
    operation: CounterOperation,
    place: Place,
  ): CounterVerdict | undefined {
    const entry = this.#find(operation, place.keys);
    const nowMs = this.#monotonicMs();
    const isLive = entry !== undefined && nowMs < entry.endMs &&
      appliesTo(entry.seen, operation, place);
    this.#figures.lookedUp(isLive);
    if (!isLive) {
      if (entry !== undefined) {
        if (nowMs >= entry.endMs) this.#figures.expiredCount.up();
        this.#removeFound(entry);
      }
      return undefined;
    }
    const { seen } = entry;
    if (seen.kind === "wait") {
      // How long more hits than one have to wait is not known.
      return operation.hits > 1 ? undefined : overVerdict(
        operation,
        Math.ceil((seen.passesMs - nowMs) / 1_000),
      );
    }
    // Another operation on the same counter may have a higher limit.
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
        windowStart: computeWindowStart(operation, place),
      },
      endMs: this.#monotonicMs() + 1_000 * leftSeconds,
    });
  }

  /**
   * Remembers that not one hit passes for `waitMs`, as the store answered when
   * it was asked at `askedMs`.
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
    const nowMs = this.#monotonicMs();
    if (askedMs + waitMs <= nowMs) return;
    this.#remember(operation, {
      keys,
      seen: {
        kind: "wait",
        // The latest time: the wait was rounded down, and began before now.
        passesMs: nowMs + waitMs + 1,
        limit: operation.limit,
        capacity: getCapacity(operation),
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
    } else this.#figures.overwriteCount.up();
    const latestMs = this.#monotonicMs() + 1_000 * this.#maxAgeSeconds;
    this.#entries.set(key.bytes, 0, key.end, {
      seen: from.seen,
      endMs: Math.min(from.endMs, latestMs),
      bytes,
    });
    this.#figures.entryCount.set(this.#entries.size);
  }

  /** Forgets a counter; nothing happens when it isn't remembered. */
  forget(operation: CounterOperation, keys: Uint8Array): void {
    if (this.#entries.size === 0) return;
    const entry = this.#find(operation, keys);
    if (entry !== undefined) this.#removeFound(entry);
  }

  /**
   * Returns the entry of an operation, and leaves its key in {@linkcode #key}.
   */
  #find(operation: CounterOperation, keys: Uint8Array): Entry | undefined {
    this.#key.write(keys, operation);
    return this.#entries.get(this.#key.bytes, 0, this.#key.end);
  }

  #removeFound(entry: Entry): void {
    this.#entries.delete(this.#key.bytes, 0, this.#key.end);
    this.#bytes -= entry.bytes;
    this.#figures.entryCount.set(this.#entries.size);
  }

  /**
   * Removes entries until `bytes` fit: ended ones first, then any. False when
   * there is too little memory even without other entries.
   */
  #makeRoom(bytes: number): boolean {
    if (bytes > this.#maxBytes) return false;
    const nowMs = this.#monotonicMs();
    while (this.#bytes + bytes > this.#maxBytes) {
      const chosen = this.#chooseVictim(nowMs);
      const { bytes: freed, endMs } = this.#entries.valueAt(chosen)!;
      this.#bytes -= freed;
      this.#entries.deleteAt(chosen);
      const { expiredCount, evacuateCount } = this.#figures;
      (endMs <= nowMs ? expiredCount : evacuateCount).up();
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

/** Statistics of the cache, as gauges that hold totals since the start. */
class CacheFigures {
  readonly evacuateCount: TotalGauge;
  readonly expiredCount: TotalGauge;
  readonly overwriteCount: TotalGauge;
  readonly entryCount: Gauge;
  readonly #hitCount: TotalGauge;
  readonly #missCount: TotalGauge;
  readonly #lookupCount: TotalGauge;

  constructor(stats: Stats) {
    const gauge = (name: string): Gauge =>
      stats.gauge(`ratelimit.localcache.${name}`);
    const total = (name: string): TotalGauge => new TotalGauge(gauge(name));
    this.evacuateCount = total("evacuateCount");
    this.expiredCount = total("expiredCount");
    this.overwriteCount = total("overwriteCount");
    this.entryCount = gauge("entryCount");
    this.#hitCount = total("hitCount");
    this.#missCount = total("missCount");
    this.#lookupCount = total("lookupCount");
  }

  lookedUp(isHit: boolean): void {
    this.#lookupCount.up();
    (isHit ? this.#hitCount : this.#missCount).up();
  }
}

/** A gauge that holds a growing total. */
class TotalGauge {
  readonly #gauge: Gauge;
  #total = 0;

  constructor(gauge: Gauge) {
    this.#gauge = gauge;
  }

  up(): void {
    this.#gauge.set(++this.#total);
  }
}

/**
 * True when what was seen is still about the counter of an operation, with its
 * limit.
 */
function appliesTo(
  seen: Seen,
  operation: CounterOperation,
  place: Place,
): boolean {
  return seen.kind === "count"
    ? seen.windowStart === computeWindowStart(operation, place)
    : seen.limit === operation.limit &&
      seen.capacity === getCapacity(operation);
}

function computeWindowStart(operation: CounterOperation, place: Place): number {
  return windowStartSeconds(place.nowSeconds, operation.windowSeconds);
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
