/**
 * Splits what is committed together into batches, each of one tenant.
 *
 * @module
 */

import type { Transaction } from "./store.ts";

/** The most transactions in a batch. */
const MAX_BATCH_TRANSACTIONS = 100;
/** The most writes that are encoded at once where others may go first. */
const MAX_WRITES_AT_ONCE = 200;

/** The tenant of a transaction; empty for records that belong to no tenant. */
export function tenantOfTransaction({ writes: [first] }: Transaction): string {
  return first?.tenantId ?? "";
}

/**
 * Whether transactions have so many writes that they are encoded in slices, where
 * others may go first.
 */
export function isLong(transactions: readonly Transaction[]): boolean {
  let writes = 0;
  for (const one of transactions) writes += one.writes.length;
  return writes > MAX_WRITES_AT_ONCE;
}

/** Groups transactions into batches, in their order. */
export function inBatches(
  transactions: readonly Transaction[],
): readonly (readonly Transaction[])[] {
  const batches: (readonly Transaction[])[] = [];
  for (let from = 0; from < transactions.length;) {
    const to = endOfBatch(transactions, from);
    batches.push(transactions.slice(from, to));
    from = to;
  }
  return batches;
}

/**
 * The index after the transactions that form a batch: all of one tenant, and
 * not too many.
 */
function endOfBatch(
  transactions: readonly Transaction[],
  from: number,
): number {
  const first = transactions[from];
  if (first === undefined) return from;
  const tenant = tenantOfTransaction(first);
  for (let to = from + 1; to < transactions.length; to++) {
    const transaction = transactions[to];
    if (transaction === undefined || to === from + MAX_BATCH_TRANSACTIONS) {
      return to;
    }
    if (tenantOfTransaction(transaction) !== tenant) return to;
  }
  return transactions.length;
}

/**
 * Demands that what a write stores is what it names.
 *
 * @throws {TypeError} when it is not, which is a fault of the program
 */
export function demandSame(
  write: { readonly tenantId: string; readonly id: string },
  next: { readonly tenantId: string; readonly id: string },
): void {
  if (write.id === next.id && write.tenantId === next.tenantId) return;
  throw new TypeError(
    `Cannot write "${write.id}": what it is to be has the id "${next.id}" or ` +
      "another tenant",
  );
}
