/**
 * Stores whose commits or reads are replaced, in claims as well: a claim commits
 * and reads by itself, so that `{ ...store, commit }` would pass it by.
 *
 * @module
 */

import type {
  ClaimView,
  Store,
  Transaction,
  TransactionResult,
} from "./store.ts";

/**
 * Stands between those who commit and the store: it may refuse or alter the
 * transactions, and sees the results.
 *
 * @param apply writes transactions; called once at most
 */
export type AroundCommit = (
  transactions: readonly Transaction[],
  apply: (
    transactions: readonly Transaction[],
  ) => Promise<readonly TransactionResult[]>,
) => Promise<readonly TransactionResult[]>;

/** The same store with a function around all commits, also those of claims. */
export function withCommit(store: Store, around: AroundCommit): Store {
  return {
    ...store,
    commit: (transactions, pausing) =>
      around(transactions, (given) => store.commit(given, pausing)),
    async claim(scope, decide) {
      const applied = Promise.withResolvers<readonly TransactionResult[]>();
      const answers: Promise<readonly TransactionResult[]>[] = [];
      const claiming = store.claim(scope, async (view) => {
        const transactions = await decide(view);
        if (transactions.length === 0) return [];
        const given = Promise.withResolvers<readonly Transaction[]>();
        const answer = around(transactions, (altered) => {
          given.resolve(altered);
          return applied.promise;
        });
        // Transactions that never get to the store are not written.
        answer.then(() => given.resolve([]), given.reject);
        answers.push(answer);
        return await given.promise;
      });
      claiming.then(applied.resolve, applied.reject);
      // It has no reader when nothing was decided.
      applied.promise.catch(() => {});
      await claiming.catch(() => {});
      return await (answers[0] ?? claiming);
    },
  };
}

/** The same store with other reads, which claims see as well. */
export function withReads(store: Store, reads: Partial<ClaimView>): Store {
  return {
    ...store,
    ...reads,
    claim: (scope, decide) =>
      store.claim(scope, (view) => decide({ ...view, ...reads })),
  };
}
