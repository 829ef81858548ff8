/**
 * A store in which somebody else is always quicker, for tests of what lives on
 * optimistic changes.
 *
 * @module
 */

import type { Change, CommitOutcome, RelayerStore } from "../store.ts";

/** Options of {@linkcode conflictingStore}. */
export interface ConflictingStoreOptions {
  /** Tells whether somebody else comes before a change of a job. */
  readonly isBeaten: () => boolean;
}

/**
 * A store that now and then changes a job, in nothing but its version, just
 * before somebody else's change of it, so that theirs conflicts in earnest.
 */
export function conflictingStore(
  store: RelayerStore,
  options: ConflictingStoreOptions,
): RelayerStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === "commit") {
        return (changes: readonly Change[]) =>
          commitBeaten(target, changes, options);
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function commitBeaten(
  store: RelayerStore,
  changes: readonly Change[],
  { isBeaten }: ConflictingStoreOptions,
): Promise<CommitOutcome> {
  const quicker = changes.filter((change) =>
    change.kind === "job" && isBeaten()
  ).map((change) => store.commit([{ ...change, patch: {} } as Change]));
  await Promise.all(quicker);
  return await store.commit(changes);
}
