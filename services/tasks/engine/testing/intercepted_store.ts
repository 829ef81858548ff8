/**
 * A store wrapper by which a test intercepts calls of some methods.
 *
 * @module
 */

import type { Store } from "../../store/store.ts";

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
