/**
 * One demand on a store.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import type { Change, RelayerStore } from "../../store.ts";

/** A store under test. */
export interface ConformanceSubject {
  /** The store, started, with nothing in it. */
  readonly store: RelayerStore;
  /** The clock it reads; stands at {@linkcode SAMPLE_MS} or later. */
  readonly clock: FakeClock;
  /** Stops it and starts it anew on the same data. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

/** A demand. */
export interface StoreCase {
  /** What the store does. */
  readonly title: string;
  /** Throws when it does not. */
  run(subject: ConformanceSubject): Promise<void>;
}

/** Commits what must fit. */
export async function commitAll(
  store: RelayerStore,
  ...changes: readonly Change[]
): Promise<void> {
  assertEquals(await store.commit(changes), { kind: "ok" });
}
