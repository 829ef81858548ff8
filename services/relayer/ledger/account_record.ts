/**
 * An account with everything that the ledger knows of it.
 *
 * @module
 */

import type { Account, DelegateKey } from "./ledger.ts";

/** A key that may speak for an account, and since when. */
export interface DelegateKeyRecord extends DelegateKey {
  /** When it was added, in milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** An account, and since when there is one. */
export interface AccountRecord extends Account {
  /** When it was made, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Keys that may speak for it, in the order they were added. */
  readonly delegateKeys: readonly DelegateKeyRecord[];
}
