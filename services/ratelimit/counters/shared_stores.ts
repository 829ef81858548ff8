/**
 * The memory in which several threads keep their counters together, one block
 * for each kind of store.
 *
 * @module
 */

import {
  CounterTable,
  shareCounters,
  type SharedCounters,
} from "./counter_table.ts";
import type { SharedTable } from "./memory_store.ts";
import { lockMemory, SharedLock } from "./shared_lock.ts";

/** Memory for the counters of all threads; each thread gets it in a message. */
export interface SharedStores {
  /** Counters of the rules in force, when they are kept in memory. */
  readonly counters: SharedStore | undefined;
  /** Counters of a candidate, when there is one and they are kept in memory. */
  readonly candidate: SharedStore | undefined;
  /** Counters that are used while the servers of another store fail. */
  readonly local: SharedStore | undefined;
}

interface SharedStore {
  readonly counters: SharedCounters;
  readonly lock: SharedArrayBuffer;
}

/** How a thread takes part in {@linkcode SharedStores}. */
export interface StoreSharing {
  /** The memory. */
  readonly stores: SharedStores;
  /** The number of the thread, from 0. */
  readonly thread: number;
  /** A monotonic clock that is the same on all threads, in milliseconds. */
  readonly monotonicMs: () => number;
}

/**
 * Allocates the memory that threads share.
 *
 * @throws {RangeError} When the machine has no room for so many counters.
 */
export function shareStores(
  { maxKeys, isInMemory, hasCandidate }: {
    /** Most counters in each block. */
    readonly maxKeys: number;
    /** True when counters are kept in memory, not on a server. */
    readonly isInMemory: boolean;
    /** True when there is a candidate. */
    readonly hasCandidate: boolean;
  },
): SharedStores {
  const share = (isNeeded: boolean): SharedStore | undefined =>
    isNeeded
      ? { counters: shareCounters(maxKeys), lock: lockMemory() }
      : undefined;
  return {
    counters: share(isInMemory),
    candidate: share(isInMemory && hasCandidate),
    local: share(!isInMemory),
  };
}

/**
 * Frees the locks that a thread held when it ended, so that the other threads
 * can go on. Counters behind such a lock may be half written and are removed.
 *
 * @returns True when counters were removed.
 */
export function releaseStores(stores: SharedStores, thread: number): boolean {
  let isHeld = false;
  for (const store of Object.values<SharedStore | undefined>({ ...stores })) {
    if (store === undefined) continue;
    const { counters, lock } = store;
    const own = new SharedLock(lock, thread);
    if (!own.isHeld) continue;
    new CounterTable({ shared: counters }).clear();
    own.release();
    isHeld = true;
  }
  return isHeld;
}

/**
 * Returns the options by which a store in memory uses the shared counters
 * `name`.
 */
export function sharedOptions(
  name: keyof SharedStores,
  sharing: StoreSharing | undefined,
): {
  readonly shared?: SharedTable;
  readonly monotonicMs?: () => number;
} {
  const store = sharing?.stores[name];
  if (sharing === undefined || store === undefined) return {};
  const { counters, lock } = store;
  return {
    shared: { counters, lock: new SharedLock(lock, sharing.thread) },
    monotonicMs: sharing.monotonicMs,
  };
}
