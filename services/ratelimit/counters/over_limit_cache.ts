/**
 * Remembers counters that are over their limit, so that a client that keeps
 * knocking doesn't cost the store a call each time.
 *
 * @module
 */

import { ByteMap } from "../../shared/byte_map.ts";
import { CounterKey } from "./counter_key.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterOperation,
  CounterResult,
  CounterStore,
} from "./counter_store.ts";
import { secondsUntilReset } from "./fixed_window.ts";

/** How the cache is made. */
export interface OverLimitCacheOptions {
  /** The store behind it. */
  readonly store: CounterStore;
  /** Memory it may take, about. */
  readonly maxBytes: number;
  /**
   * How long a counter is remembered without asking again, at most to the end
   * of its window: so long may hits that another instance gave back go unseen.
   */
  readonly maxAgeSeconds: number;
}

/** What an entry takes beside its key. */
const ENTRY_BYTES = 64;
/** Entries looked at when the cache is full, to find one that has ended. */
const ROOM_SCAN = 16;

/**
 * A store in front of a store. Counters that are known to be over their limit
 * are answered at once and not incremented; the rest of the batch goes on.
 * Hits given back through this instance make it forget the counter.
 */
export class OverLimitCache implements CounterStore {
  readonly #store: CounterStore;
  readonly #maxBytes: number;
  readonly #maxAgeSeconds: number;
  readonly #key = new CounterKey();
  /** The second at which each entry ends. */
  readonly #ends = new ByteMap<
    { readonly endSeconds: number; readonly bytes: number }
  >();
  #bytes = 0;
  #hand = 0;

  /** An empty cache. */
  constructor(options: OverLimitCacheOptions) {
    this.#store = options.store;
    this.#maxBytes = options.maxBytes;
    this.#maxAgeSeconds = options.maxAgeSeconds;
  }

  /** Number of counters remembered. */
  get size(): number {
    return this.#ends.size;
  }

  /** Answers what it knows, asks for the rest; see {@linkcode CounterStore.apply}. */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer> {
    const known = this.#knownOver(batch);
    if (known.count === batch.operations.length) {
      return { kind: "counted", results: known.results as CounterResult[] };
    }
    const forwarded = this.#rest(batch, known);
    const answer = this.#store.apply(forwarded);
    if (!(answer instanceof Promise)) {
      return this.#merged(answer, { known, forwarded });
    }
    // The caller may write over the keys while the store works.
    const kept = { ...forwarded, keys: forwarded.keys.slice() };
    return answer.then((settled) =>
      this.#merged(settled, { known, forwarded: kept })
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
    const { operations, nowSeconds } = batch;
    const results = new Array<CounterResult | undefined>(operations.length);
    let count = 0;
    for (const [index, operation] of operations.entries()) {
      const result = this.#lookUp(operation, batch.keys, nowSeconds);
      results[index] = result;
      if (result !== undefined) count++;
    }
    return { results, count };
  }

  #lookUp(
    operation: CounterOperation,
    keys: Uint8Array,
    nowSeconds: number,
  ): CounterResult | undefined {
    if (this.#ends.size === 0) return undefined;
    const key = this.#key;
    key.write(keys, operation);
    const entry = this.#ends.get(key.bytes, 0, key.end);
    if (entry === undefined) return undefined;
    if (nowSeconds >= entry.endSeconds || operation.hits < 0) {
      this.#forget(entry.bytes, () => this.#ends.delete(key.bytes, 0, key.end));
      return undefined;
    }
    return {
      isOver: true,
      hitsOver: operation.hits,
      remaining: 0,
      resetSeconds: secondsUntilReset(nowSeconds, operation.windowSeconds),
      isFromCache: true,
    };
  }

  /** The operations that the store must see. */
  #rest(batch: CounterBatch, known: Known): CounterBatch {
    if (known.count === 0) return batch;
    const operations = batch.operations.filter((_, index) =>
      known.results[index] === undefined
    );
    // One is over its limit: where that stops the others, they only look.
    const reads = batch.stopWhenOver === true;
    return {
      ...batch,
      operations: reads
        ? operations.map((operation) =>
          operation.hits > 0 ? { ...operation, hits: 0 } : operation
        )
        : operations,
    };
  }

  #merged(
    answer: CounterAnswer,
    from: { readonly known: Known; readonly forwarded: CounterBatch },
  ): CounterAnswer {
    if (answer.kind === "unavailable") return answer;
    const { known, forwarded } = from;
    for (const [index, operation] of forwarded.operations.entries()) {
      this.#note(answer.results[index]!, operation, forwarded);
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

  #note(
    result: CounterResult,
    operation: CounterOperation,
    batch: CounterBatch,
  ): void {
    if (typeof result !== "number" || result <= operation.limit) return;
    const { keys, nowSeconds } = batch;
    const leftSeconds = secondsUntilReset(nowSeconds, operation.windowSeconds);
    const key = this.#key;
    key.write(keys, operation);
    const bytes = key.end + ENTRY_BYTES;
    const before = this.#ends.get(key.bytes, 0, key.end);
    if (before === undefined && !this.#makeRoom(bytes, nowSeconds)) return;
    if (before === undefined) this.#bytes += bytes;
    this.#ends.set(key.bytes, 0, key.end, {
      endSeconds: nowSeconds + Math.min(leftSeconds, this.#maxAgeSeconds),
      bytes,
    });
  }

  /** Lets entries go until `bytes` fit: ended ones first, then whichever. */
  #makeRoom(bytes: number, nowSeconds: number): boolean {
    if (bytes > this.#maxBytes) return false;
    while (this.#bytes + bytes > this.#maxBytes) {
      let chosen = this.#hand % this.#ends.size;
      for (let look = 0; look < Math.min(ROOM_SCAN, this.#ends.size); look++) {
        const at = (this.#hand + look) % this.#ends.size;
        if (this.#ends.valueAt(at)!.endSeconds <= nowSeconds) {
          chosen = at;
          break;
        }
      }
      this.#hand = chosen + 1;
      const entry = this.#ends.valueAt(chosen)!;
      this.#forget(entry.bytes, () => this.#ends.deleteAt(chosen));
    }
    return true;
  }

  #forget(bytes: number, remove: () => boolean): void {
    if (remove()) this.#bytes -= bytes;
  }
}

interface Known {
  /** For each operation its result, undefined where the store must be asked. */
  readonly results: readonly (CounterResult | undefined)[];
  /** How many are known. */
  readonly count: number;
}
