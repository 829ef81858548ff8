/**
 * The shape of the test cases that every store has to pass.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import type { Change } from "../../changes.ts";
import type { RelayerStore } from "../../store.ts";

/** A store under test. */
export interface ConformanceSubject {
  /** The store, started and empty. */
  readonly store: RelayerStore;
  /** The store's clock, at {@linkcode SAMPLE_MS} or later. */
  readonly clock: FakeClock;
  /** Stops the store and starts it again on the same data. */
  restart(): Promise<void>;
  /** Stops the store and removes its data. */
  close(): Promise<void>;
}

/** A store of which there may be several on the same data. */
export interface SeveralStores extends ConformanceSubject {
  /** Opens another store, as another instance does. */
  another(): Promise<RelayerStore>;
}

/** A test case. */
export interface StoreCase<Subject = ConformanceSubject> {
  /** The behaviour that is tested, as the end of the test's title. */
  readonly title: string;
  /** Runs the test; rejects when the store behaves otherwise. */
  run(subject: Subject): Promise<void>;
}

/** Commits changes, and asserts that none of them conflicts. */
export async function commitAll(
  store: RelayerStore,
  ...changes: readonly Change[]
): Promise<void> {
  assertEquals(await store.commit(changes), { kind: "ok" });
}
