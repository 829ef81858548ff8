/**
 * A store that gets in the way: it answers conflicts that another writer might
 * have caused and fails commits, so that tests see whether callers cope.
 *
 * @module
 */

import { placementOf } from "../../domain/placement.ts";
import type { Store, Transaction, TransactionResult, Write } from "../store.ts";

/** Options of {@linkcode createConflictingStore}. */
export interface ConflictingStoreOptions {
  /** Gives a number from 0 to before 1. */
  readonly random: () => number;
  /**
   * The share of transactions that are answered with a conflict and not applied.
   *
   * @default {0}
   */
  readonly conflictShare?: number;
  /**
   * The share of commits that fail; half of these have been applied nevertheless,
   * as when the answer is lost.
   *
   * @default {0}
   */
  readonly failureShare?: number;
}

/** What a {@linkcode createConflictingStore} has done so far. */
export interface Mischief {
  /** Conflicts that were made up. */
  readonly conflicts: number;
  /** Commits that were failed. */
  readonly failures: number;
}

/** A store in front of another one. */
export type ConflictingStore = Store & {
  /** What it has done so far. */
  readonly mischief: Mischief;
};

/**
 * Puts conflicts and failures in front of a store. Conflicts are those that
 * another writer can cause at any time: they say that a version changed, or that
 * a key, an alias or an idempotency key was taken. A required record is never
 * said to be missing, as callers need not ask again after that.
 */
export function createConflictingStore(
  inner: Store,
  options: ConflictingStoreOptions,
): ConflictingStore {
  const { random, conflictShare = 0, failureShare = 0 } = options;
  const mischief = { conflicts: 0, failures: 0 };

  async function commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    const failure = random() < failureShare
      ? random() < 0.5 ? "before" : "after"
      : undefined;
    if (failure !== undefined) mischief.failures++;
    if (failure === "before") throw failed();
    const madeUp = transactions.map((transaction) =>
      random() < conflictShare ? conflictOf(transaction, random) : undefined
    );
    const results = await inner.commit(
      transactions.filter((_, index) => madeUp[index] === undefined),
    );
    if (failure === "after") throw failed();
    mischief.conflicts += madeUp.filter((one) => one !== undefined).length;
    let next = 0;
    return madeUp.map((conflict) => conflict ?? resultAt(results, next++));
  }

  return { ...inner, mischief, commit };
}

/** A conflict that a transaction could have met; undefined when it cannot meet any. */
function conflictOf(
  transaction: Transaction,
  random: () => number,
): TransactionResult | undefined {
  const possible = transaction.writes.flatMap((write, index) =>
    reasonsOf(write).map((reason) => ({
      kind: "conflict" as const,
      write: index,
      reason,
    }))
  );
  return possible[Math.floor(random() * possible.length)];
}

type Reason = Extract<TransactionResult, { kind: "conflict" }>["reason"];

function reasonsOf(write: Write): Reason[] {
  switch (write.kind) {
    case "task": {
      const hasKey = write.next !== undefined &&
        placementOf(write.next).liveKey !== undefined;
      return hasKey ? ["version", "key"] : ["version"];
    }
    case "record":
      return write.next?.alias === undefined
        ? ["version"]
        : ["version", "alias"];
    case "idempotency":
      return write.replaces === true ? [] : ["idempotency"];
    default:
      return [];
  }
}

function failed(): Error {
  return new Error("Cannot commit: the store was made to fail");
}

function resultAt(
  results: readonly TransactionResult[],
  index: number,
): TransactionResult {
  const result = results[index];
  if (result === undefined) {
    throw new RangeError(
      `Cannot answer for transaction ${index}: the store gave ${results.length} results`,
    );
  }
  return result;
}
