/**
 * Caches counters that are over their limit, so that a client that keeps
 * calling doesn't cost the store a call each time.
 *
 * @module
 */

import type {
  CounterAnswer,
  CounterBatch,
  CounterOperation,
  CounterResult,
  CounterStore,
} from "./counter_store.ts";
import {
  OverLimitMemory,
  type OverLimitMemoryOptions,
  type Place,
} from "./over_limit_memory.ts";

/** How the cache is made. */
interface OverLimitCacheOptions extends OverLimitMemoryOptions {
  /** The store behind the cache. */
  readonly store: CounterStore;
}

/** What the cache knows of the operations of a batch. */
interface Known {
  /** For each operation its result; undefined where the store must be asked. */
  readonly results: readonly (CounterResult | undefined)[];
  /** How many results are known. */
  readonly count: number;
  /** True when an operation that takes hits is known to be over its limit. */
  readonly isOver: boolean;
}

/**
 * A cache in front of a store. Counters that are known to be over their limit
 * are answered at once and not incremented; the rest of the batch goes to the
 * store. Hits given back through this instance make it forget the counter.
 */
export class OverLimitCache implements CounterStore {
  readonly #store: CounterStore;
  readonly #memory: OverLimitMemory;
  /** Grows with each operation that gives hits back. */
  #refunds = 0;

  /** Makes an empty cache. */
  constructor(options: OverLimitCacheOptions) {
    this.#store = options.store;
    this.#memory = new OverLimitMemory(options);
  }

  /** Number of counters remembered. */
  get size(): number {
    return this.#memory.size;
  }

  /**
   * Answers the operations that it knows, and asks the store for the rest; see
   * {@linkcode CounterStore.apply}.
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

  /** Returns the health of the store. */
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
      const refusal = this.#memory.findRefusal(operation, { keys, nowSeconds });
      if (refusal === undefined) continue;
      results[index] = refusal;
      count++;
      isOver ||= operation.hits > 0 && operation.refuses !== false;
    }
    return { results, count, isOver };
  }

  /** Returns the operations that the store must see. */
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
        // After a refund, answers to operations that were sent before it are
        // out of date.
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

function allOf(
  results: readonly (CounterResult | undefined)[],
): CounterResult[] {
  return results.filter((result) => result !== undefined);
}
