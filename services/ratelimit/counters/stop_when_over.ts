/**
 * Which operations of a batch count when a refused call is to cost nothing
 * elsewhere.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { CounterBatch, CounterOperation } from "./counter_store.ts";

/** What matters of an operation. */
export interface StoppableOperation {
  /** Tells its counter from others. */
  readonly counter: string;
  /** Hits to add. */
  readonly hits: number;
  /** Requests allowed. */
  readonly limit: number;
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
    const { keyStart, keyEnd, windowSeconds, hits, limit } = operation;
    const key = Buffer.from(keys.subarray(keyStart, keyEnd)).toString("latin1");
    return { counter: `${windowSeconds} ${key}`, hits, limit };
  });
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
  for (const [i, { counter, hits, limit }] of operations.entries()) {
    const before = totals.get(counter) ?? counts[i]!;
    const after = Math.max(0, before + hits);
    totals.set(counter, after);
    if (hits > 0 && after > limit) over.add(counter);
  }
  return operations.map(({ counter, hits }) =>
    over.size > 0 && hits > 0 && !over.has(counter) ? 0 : hits
  );
}
