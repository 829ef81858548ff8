/**
 * The interface of counter stores: the batch of counters that a decision
 * touches, and the answer.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Algorithm } from "../rules/algorithm.ts";

/** One operation on a counter. */
export interface CounterOperation {
  /** Algorithm by which this counter counts. */
  readonly algorithm: Algorithm;
  /** First byte of the counter's key within {@linkcode CounterBatch.keys}. */
  readonly keyStart: number;
  /** One past the last byte of the key. The window is not part of the key. */
  readonly keyEnd: number;
  /**
   * Hits to add, a whole number. 0 reads without counting; less than 0 gives
   * hits back, and the count never falls below 0.
   */
  readonly hits: number;
  /** Requests allowed in one window. */
  readonly limit: number;
  /**
   * For a token bucket the requests that may come at once.
   *
   * @default as `limit`
   */
  readonly burst?: number | undefined;
  /**
   * Length of the window in seconds, whole and below 2^31: the longest unit is
   * a year. Fixed windows are multiples of it since the Unix epoch; a token
   * bucket gets `limit` tokens in that time.
   */
  readonly windowSeconds: number;
  /**
   * False for a limit that never refuses a call, so that `stopWhenOver` holds
   * nothing back on its account.
   *
   * @default {true}
   */
  readonly refuses?: boolean | undefined;
}

/** Returns the most hits that an operation's counter ever admits at once. */
export function getCapacity(
  { limit, burst }: Pick<CounterOperation, "limit" | "burst">,
): number {
  return burst ?? limit;
}

/**
 * The counters that one call touches. A store reads it before `apply` returns
 * and not after, even while a promise is pending: the caller reuses it.
 */
export interface CounterBatch {
  /**
   * The domain of the call, for stores that treat domains differently.
   *
   * @default {""}
   */
  readonly domain?: string;
  /** The bytes of all keys, one after the other. */
  readonly keys: Uint8Array;
  /** The operations; the results of the answer have the same order. */
  readonly operations: readonly CounterOperation[];
  /** The time of the call in whole Unix seconds. */
  readonly nowSeconds: number;
  /**
   * True to only read the other operations when one that takes hits would go
   * over its limit, so that a refused call costs nothing elsewhere.
   *
   * @default {false}
   */
  readonly stopWhenOver?: boolean;
}

/**
 * A decision without a plain count: made by the over-limit cache, or by a
 * sliding window or token bucket. Those two refuse all hits of an operation
 * together, without charging them; a look (0 hits) is over when not one hit
 * would pass.
 */
export interface CounterVerdict {
  /** True when the limit is exceeded. */
  readonly isOver: boolean;
  /** How many of the operation's hits are over the limit. */
  readonly hitsOver: number;
  /** Hits that remain. */
  readonly remaining: number;
  /**
   * Whole seconds until the limit is whole again; for a sliding window or token
   * bucket that refused, or has nothing left, until it admits again.
   */
  readonly resetSeconds: number;
  /**
   * Milliseconds, rounded down, for which the refused hits are refused again
   * unless hits are given back.
   *
   * @default not known
   */
  readonly waitMs?: number;
  /**
   * True when the over-limit cache knew without asking the store.
   *
   * @default {false}
   */
  readonly isFromCache?: boolean;
}

/** The count after the operation, or the store's own verdict. */
export type CounterResult = number | CounterVerdict;

/** The outcome of a batch. */
export type CounterAnswer =
  /** One result for each operation, in their order. */
  | { readonly kind: "counted"; readonly results: readonly CounterResult[] }
  /**
   * The store did not answer in time or not at all. `reason` holds no secret.
   */
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    /**
     * True when the hits may have been counted all the same.
     *
     * @default {false}
     */
    readonly mayHaveCounted?: boolean;
  };

/** Keeps counters. */
export interface CounterStore {
  /**
   * Applies all operations of a batch, each of them once and in order: two
   * operations on one key see each other.
   *
   * @returns The answer as a value when the store has it at once, else as a
   * promise that settles within the store's own time limit and never rejects.
   */
  apply(batch: CounterBatch): CounterAnswer | Promise<CounterAnswer>;
  /** True while the store can be expected to answer. */
  isHealthy(): boolean;
  /** Connects; returns at once, whether or not the store can be reached. */
  start(): Promise<void>;
  /** Closes connections and timers; a second call does nothing. */
  stop(): Promise<void>;
}

/** An operation, as far as `stopWhenOver` needs it. */
interface StoppableOperation {
  /** Identifies the counter. */
  readonly counter: string;
  /** Hits to add. */
  readonly hits: number;
  /**
   * The most hits that the counter admits at once; infinite for a limit that
   * never refuses.
   */
  readonly limit: number;
  /** True when refused hits stay on the counter. */
  readonly chargesRefused: boolean;
}

/** Returns the most hits that `stopWhenOver` lets pass. */
export function getStoppingLimit(
  operation: Pick<CounterOperation, "limit" | "burst" | "refuses">,
): number {
  return operation.refuses === false ? Infinity : getCapacity(operation);
}

/** True when hits that are refused stay on the counter. */
export function chargesRefused(
  { algorithm }: Pick<CounterOperation, "algorithm">,
): boolean {
  return algorithm === "fixed_window";
}

/**
 * True when `stopWhenOver` can make a difference: with a single operation that
 * takes hits there is no other one to hold back.
 */
export function canStop(
  operations: readonly { readonly hits: number }[],
): boolean {
  let takers = 0;
  for (const { hits } of operations) if (hits > 0) takers++;
  return takers > 1;
}

/** Returns the operations of a batch, as far as `stopWhenOver` needs them. */
export function stoppableOperations(
  { keys, operations }: CounterBatch,
): readonly StoppableOperation[] {
  return operations.map((operation: CounterOperation) => {
    const { algorithm, keyStart, keyEnd, windowSeconds, hits } = operation;
    const key = Buffer.from(keys.subarray(keyStart, keyEnd)).toString("latin1");
    return {
      counter: `${algorithm} ${windowSeconds} ${key}`,
      hits,
      limit: getStoppingLimit(operation),
      chargesRefused: chargesRefused(operation),
    };
  });
}

/**
 * Returns the count that a look found. For a counter without a plain count,
 * this is its capacity less what remains.
 */
export function countSeen(
  result: CounterResult,
  operation: Pick<CounterOperation, "limit" | "burst">,
): number {
  return typeof result === "number"
    ? result
    : getCapacity(operation) - result.remaining;
}

/**
 * Returns the hits to apply under `stopWhenOver`. When some operation would go
 * over its limit, operations on its counter keep their hits, and all others
 * that take hits get 0; otherwise all keep theirs. Applying the operations in
 * their order tells which would go over.
 *
 * @param counts The counts before the batch, in the order of the operations.
 */
export function hitsWhenStopping(
  operations: readonly StoppableOperation[],
  counts: readonly number[],
): readonly number[] {
  const totals = new Map<string, number>();
  const over = new Set<string>();
  for (const [i, operation] of operations.entries()) {
    const { counter, hits, limit } = operation;
    const before = totals.get(counter) ?? counts[i]!;
    const after = Math.max(0, before + hits);
    const isOver = hits > 0 && after > limit;
    totals.set(
      counter,
      isOver && !operation.chargesRefused ? before : after,
    );
    if (isOver) over.add(counter);
  }
  return operations.map(({ counter, hits }) =>
    over.size > 0 && hits > 0 && !over.has(counter) ? 0 : hits
  );
}
