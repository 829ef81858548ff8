/**
 * The counters that an over-limit cache remembers, within a bound of memory.
 *
 * @module
 */

import { ByteMap } from "../bytes/byte_map.ts";
import type { Counter, Gauge, Stats } from "../stats/stats.ts";
import { CounterKey } from "./counter_key.ts";
import type { CounterOperation } from "./counter_store.ts";
import { secondsUntilReset, windowStartSeconds } from "./fixed_window.ts";

/** How much is remembered, and how long. */
export interface OverLimitMemoryOptions {
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
export interface Place {
  /** The bytes the operation's key stands in. */
  readonly keys: Uint8Array;
  /** Time of the call. */
  readonly nowSeconds: number;
}

interface Entry {
  readonly count: number;
  /** The window that was counted; another one has a counter of its own. */
  readonly windowStart: number;
  /** When it is forgotten, by the monotonic clock. */
  readonly endMs: number;
  readonly bytes: number;
}

/** What an entry takes beside its key. */
const ENTRY_BYTES = 64;
/** Entries looked at when there is no room, to find one that has ended. */
const ROOM_SCAN = 16;

/** Counts by counter, forgotten at the end of the window or before. */
export class OverLimitMemory {
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

  /** The count that was seen last; undefined when none is remembered. */
  countOf(operation: CounterOperation, place: Place): number | undefined {
    const entry = this.#find(operation, place.keys);
    const isLive = entry !== undefined &&
      this.#monotonicMs() < entry.endMs &&
      entry.windowStart === windowStartOf(operation, place);
    (isLive ? this.#hits : this.#misses).add();
    if (isLive) return entry.count;
    if (entry !== undefined) this.#removeFound(entry);
    return undefined;
  }

  /** Remembers a count. */
  remember(
    operation: CounterOperation,
    seen: Place & { readonly count: number },
  ): void {
    const before = this.#find(operation, seen.keys);
    const key = this.#key;
    const bytes = key.end + ENTRY_BYTES;
    if (before === undefined) {
      if (!this.#makeRoom(bytes)) return;
      this.#bytes += bytes;
    }
    const leftSeconds = secondsUntilReset(
      seen.nowSeconds,
      operation.windowSeconds,
    );
    this.#entries.set(key.bytes, 0, key.end, {
      count: seen.count,
      windowStart: windowStartOf(operation, seen),
      endMs: this.#monotonicMs() +
        1_000 * Math.min(leftSeconds, this.#maxAgeSeconds),
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

function windowStartOf(operation: CounterOperation, place: Place): number {
  return windowStartSeconds(place.nowSeconds, operation.windowSeconds);
}
