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

/** A function that replaces a call; `proceed` makes the original call. */
export type Interceptor = (
  proceed: () => Promise<unknown>,
) => Promise<unknown>;

/** Wraps a store so that interceptors replace the calls of some methods. */
export function interceptStore(
  store: Store,
  intercept: Partial<Record<keyof Store, Interceptor>>,
): Store {
  const interceptors = new Map(Object.entries(intercept));
  const intercepted = new Proxy(store, {
    get(target, name) {
      if (name === "claim") return claimByCommit(intercepted);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const interceptor = interceptors.get(String(name));
      if (interceptor === undefined) return value.bind(target);
      return (...args: unknown[]) =>
        interceptor(async () => {
          const answer: unknown = await Reflect.apply(value, target, args);
          return answer;
        });
    },
  });
  return intercepted;
}

/**
 * The `claim` of a store that one engine has for itself, whose `commit` a test
 * has replaced.
 */
export function claimByCommit(
  store: Pick<Store, "commit"> & ClaimView,
): Store["claim"] {
  return async (_scope, decide) => {
    const transactions = await decide(store);
    return transactions.length === 0 ? [] : await store.commit(transactions);
  };
}

/** Wraps a store so that a test sees all that was committed. */
export function observeCommits(
  store: Store,
  onCommitted: (
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ) => void,
): Store {
  const observed: Store = {
    ...store,
    async commit(transactions, pausing) {
      const results = await store.commit(transactions, pausing);
      onCommitted(transactions, results);
      return results;
    },
    claim: (...of) => claimByCommit(observed)(...of),
  };
  return observed;
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
