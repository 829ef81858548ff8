/**
 * The memory in which several threads keep their counters together.
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

/** Memory for the counters of all threads; each gets it by a message. */
export interface SharedStores {
  /** Of the rules in force, where they are counted in memory. */
  readonly counters: SharedStore | undefined;
  /** Of a candidate, where there is one. */
  readonly candidate: SharedStore | undefined;
  /** For the time in which another store is away. */
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
 * Makes the memory that threads share.
 *
 * @throws {RangeError} When the machine has no room for so many counters.
 */
export function shareStores(
  { maxKeys, isInMemory, hasCandidate }: {
    /** The most counters of each. */
    readonly maxKeys: number;
    /** Whether counters are kept in memory, not on a server. */
    readonly isInMemory: boolean;
    /** Whether there is a candidate. */
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
 * Lets others go on when a thread has ended while it counted; what may be half
 * done is forgotten.
 *
 * @returns Whether counters were forgotten.
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

/** What a store in memory takes of that. */
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
