/**
 * What opening a counter store gives.
 *
 * @module
 */

import type { CounterStore } from "./counter_store.ts";

/** A store that isn't started yet, or why the settings name none. */
export type OpenStoreOutcome =
  | {
    /** Tells the outcomes apart. */
    readonly kind: "store";
    /** The store. */
    readonly store: CounterStore;
  }
  | {
    /** Tells the outcomes apart. */
    readonly kind: "bad";
    /** One line that names the setting and what is wrong. */
    readonly problem: string;
  };
