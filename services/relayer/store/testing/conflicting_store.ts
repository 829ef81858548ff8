/**
 * A store for tests of optimistic changes: now and then another writer changes
 * a job first, so that the change under test conflicts.
 *
 * @module
 */

import type { Change, CommitOutcome } from "../changes.ts";
import type { RelayerStore } from "../store.ts";

/** Options of {@linkcode conflictingStore}. */
export interface ConflictingStoreOptions {
  /** Called for each change of a job; true makes another writer come first. */
  readonly isBeaten: () => boolean;
}

/**
 * Wraps a store: where `isBeaten` says so, a job's version is increased just
 * before the caller's change of the job, so that the caller's commit really
 * conflicts.
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
