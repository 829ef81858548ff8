/**
 * The counter port: what a decision asks of whatever keeps the counts.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Algorithm } from "../rules/algorithm.ts";

/** One counter to touch. */
export interface CounterOperation {
  /** How this counter counts. */
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
   * Length of the window, whole and below 2^31: the longest unit is a year.
   * Fixed windows are multiples of it since the Unix
   * epoch; a token bucket gets `limit` tokens in that time.
   */
  readonly windowSeconds: number;
}

/** The most hits that an operation's counter ever admits at once. */
export function capacityOf(
  { limit, burst }: Pick<CounterOperation, "limit" | "burst">,
): number {
  return burst ?? limit;
}

/**
 * The counters that one call touches. A store reads it before `apply` returns
 * and not after, even while a promise is pending: the caller uses it again.
 */
export interface CounterBatch {
  /**
   * The domain of the call, for what treats domains differently.
   *
   * @default {""}
   */
  readonly domain?: string;
  /** The bytes of all keys, one after the other. */
  readonly keys: Uint8Array;
  /** The operations, in the order the answer has. */
  readonly operations: readonly CounterOperation[];
  /** The time of the call in whole Unix seconds. */
  readonly nowSeconds: number;
  /**
   * When an operation that takes hits would go over its limit, those that
   * would not are only read, so that a refused call costs nothing elsewhere.
   *
   * @default {false}
   */
  readonly stopWhenOver?: boolean;
}

/**
 * What was decided without a plain count: by the over-limit cache, or by a
 * sliding window or token bucket. Those two refuse the hits of an operation
 * together, without charging them, and a look where no hit would pass.
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
   * Milliseconds, rounded down, before which what was refused is refused again
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
   * The store did not answer in time or not at all; `reason` holds no secret.
   */
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    /**
     * True when the hits may be on the counters all the same.
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
  /** Lets go of connections and timers; tolerates a second call. */
  stop(): Promise<void>;
}

/** What matters of an operation. */
interface StoppableOperation {
  /** Tells its counter from others. */
  readonly counter: string;
  /** Hits to add. */
  readonly hits: number;
  /** The most hits that the counter admits at once. */
  readonly limit: number;
  /** Whether hits that are refused stay on the counter. */
  readonly chargesRefused: boolean;
}

/** Whether hits that are refused stay on the counter. */
export function chargesRefused(
  { algorithm }: Pick<CounterOperation, "algorithm">,
): boolean {
  return algorithm === "fixed_window";
}

/**
 * True when stopping can make a difference: with one operation that takes hits
 * there is no other one to leave alone.
 */
export function canStop(
  operations: readonly { readonly hits: number }[],
): boolean {
  let takers = 0;
  for (const { hits } of operations) if (hits > 0) takers++;
  return takers > 1;
}

/** What matters of the operations of a batch. */
export function stoppableOperations(
  { keys, operations }: CounterBatch,
): readonly StoppableOperation[] {
  return operations.map((operation: CounterOperation) => {
    const { algorithm, keyStart, keyEnd, windowSeconds, hits } = operation;
    const key = Buffer.from(keys.subarray(keyStart, keyEnd)).toString("latin1");
    return {
      counter: `${algorithm} ${windowSeconds} ${key}`,
      hits,
      limit: capacityOf(operation),
      chargesRefused: chargesRefused(operation),
    };
  });
}

/**
 * The count that a look found: of a counter that has none, what is missing of
 * its limit.
 */
export function countSeen(
  result: CounterResult,
  operation: Pick<CounterOperation, "limit" | "burst">,
): number {
  return typeof result === "number"
    ? result
    : capacityOf(operation) - result.remaining;
}

/**
 * The hits to apply: when some operation would go over its limit, those on its
 * counter as they are, and 0 for all others that take hits; else all as they
 * are. What would be is found by applying the operations in their order.
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
