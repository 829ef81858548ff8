/**
 * A store one of whose methods a test gets in the way of.
 *
 * @module
 */

import type { Store } from "../../store/store.ts";

/** Stands before a call; `proceed` makes it. */
export type Interceptor = (
  proceed: () => Promise<unknown>,
) => Promise<unknown>;

/** Puts `intercept` before the calls of some methods of a store. */
export function interceptStore(
  store: Store,
  intercept: Partial<Record<keyof Store, Interceptor>>,
): Store {
  const interceptors = new Map(Object.entries(intercept));
  return new Proxy(store, {
    get(target, name) {
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
}

/** Lets each commit take its time, as a disk does. */
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
