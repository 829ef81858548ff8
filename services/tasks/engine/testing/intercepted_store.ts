/**
 * A store wrapper by which a test intercepts calls of some methods.
 *
 * @module
 */

import type {
  ClaimView,
  Store,
  Transaction,
  TransactionResult,
} from "../../store/store.ts";
import { type AroundCommit, withCommit } from "../../store/wrapped_store.ts";

/**
 * A function that replaces a call; `proceed` makes the original call. One of
 * commits is given the transactions.
 */
export type Interceptor = (
  proceed: () => Promise<unknown>,
  transactions?: readonly Transaction[],
) => Promise<unknown>;

/**
 * Wraps a store so that interceptors replace the calls of some methods, also
 * those by which claims read and commit.
 */
export function interceptStore(
  store: Store,
  { commit, ...intercept }: Partial<
    Record<Exclude<keyof Store, "claim">, Interceptor>
  >,
): Store {
  const around: AroundCommit = async (transactions, apply) => {
    let results: readonly TransactionResult[] = [];
    await commit?.(
      async () => results = await apply(transactions),
      transactions,
    );
    return results;
  };
  const committing = commit === undefined ? store : withCommit(store, around);
  const claim: Store["claim"] = (scope, decide) =>
    committing.claim(scope, (view) => decide(withInterceptors(view)));
  return { ...withInterceptors(committing), claim };

  function withInterceptors<Source extends ClaimView>(source: Source): Source {
    const intercepted = { ...source };
    for (const [name, interceptor] of Object.entries(intercept)) {
      const method: unknown = Reflect.get(source, name);
      if (typeof method !== "function") continue;
      Reflect.set(
        intercepted,
        name,
        (...args: unknown[]) =>
          interceptor(async () => {
            const answer: unknown = await Reflect.apply(method, source, args);
            return answer;
          }),
      );
    }
    return intercepted;
  }
}

/** Wraps a store so that a test sees all that was committed. */
export function observeCommits(
  store: Store,
  onCommitted: (
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ) => void,
): Store {
  return withCommit(store, async (transactions, apply) => {
    const results = await apply(transactions);
    onCommitted(transactions, results);
    return results;
  });
}

/** Wraps a store so that each commit takes some time, as on a disk. */
export function slowCommits(store: Store): Store {
  const pause = async (): Promise<void> => {
    for (let turns = 0; turns < 50; turns++) await Promise.resolve();
  };
  return interceptStore(store, {
    async commit(proceed) {
      await pause();
      const answer = await proceed();
      await pause();
      return answer;
    },
  });
}
