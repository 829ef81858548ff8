/**
 * A store wrapper that causes trouble: it answers with conflicts that another
 * writer might have caused and fails commits, so that tests see whether callers
 * cope.
 *
 * @module
 */

import { computePlacement } from "../../domain/placement.ts";
import type { Store, Transaction, TransactionResult, Write } from "../store.ts";
import { withCommit } from "../wrapped_store.ts";

/** Options of {@linkcode createConflictingStore}. */
export interface ConflictingStoreOptions {
  /** Returns a random number from 0 to before 1. */
  readonly random: () => number;
  /**
   * The share of transactions that are answered with a conflict and not
   * applied.
   *
   * @default {0}
   */
  readonly conflictShare?: number;
  /**
   * The share of commits that fail. Half of these are applied nevertheless, as
   * when the answer is lost.
   *
   * @default {0}
   */
  readonly failureShare?: number;
}

/** The trouble that a wrapper has caused so far. */
export interface Mischief {
  /** How many conflicts were invented. */
  readonly conflicts: number;
  /** How many commits were made to fail. */
  readonly failures: number;
}

/** A store with such a wrapper. */
export type ConflictingStore = Store & {
  /** The trouble caused so far. */
  readonly mischief: Mischief;
};

/**
 * Wraps a store to add conflicts and failures. The conflicts are those that
 * another writer can cause at any time: a version changed, or a key, an alias,
 * an idempotency key or a plan's room was taken. Required records are never reported as
 * missing, since callers need not try again after that.
 */
export function createConflictingStore(
  inner: Store,
  options: ConflictingStoreOptions,
): ConflictingStore {
  const { random, conflictShare = 0, failureShare = 0 } = options;
  const mischief = { conflicts: 0, failures: 0 };

  const conflicting = withCommit(inner, async (transactions, apply) => {
    const failure = random() < failureShare
      ? random() < 0.5 ? "before" : "after"
      : undefined;
    if (failure !== undefined) mischief.failures++;
    if (failure === "before") throw failed();
    const madeUp = transactions.map((transaction) =>
      random() < conflictShare ? pickConflict(transaction, random) : undefined
    );
    const results = await apply(
      transactions.filter((_, index) => madeUp[index] === undefined),
    );
    if (failure === "after") throw failed();
    mischief.conflicts += madeUp.filter((one) => one !== undefined).length;
    let next = 0;
    return madeUp.map((conflict) => conflict ?? resultAt(results, next++));
  });
  return { ...conflicting, mischief };
}

/**
 * A conflict that could happen to a transaction; undefined when it can have no
 * conflict.
 */
function pickConflict(
  transaction: Transaction,
  random: () => number,
): TransactionResult | undefined {
  const possible = transaction.writes.flatMap((write, index) =>
    listReasons(write).map((reason) => ({
      kind: "conflict" as const,
      write: index,
      reason,
    }))
  );
  return possible[Math.floor(random() * possible.length)];
}

type Reason = Extract<TransactionResult, { kind: "conflict" }>["reason"];

function listReasons(write: Write): Reason[] {
  switch (write.kind) {
    case "task": {
      const hasKey = write.next !== undefined &&
        computePlacement(write.next).liveKey !== undefined;
      return hasKey ? ["version", "key"] : ["version"];
    }
    case "record":
      return write.next?.alias === undefined
        ? ["version"]
        : ["version", "alias"];
    case "quota":
      return ["quota"];
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
