/**
 * The error of a store whose rows have moved to another one.
 *
 * @module
 */

import { StoreFailedError } from "../../shared/store_failed.ts";

/**
 * The rows have moved to another store. Nothing was written, and what this
 * store has is out of date: the service has to be stopped.
 */
export class StoreMovedError extends StoreFailedError {
  /** Takes the place of the other store, for the operator. */
  constructor(to: string) {
    super(`Cannot use the store: its data has moved to ${to}`);
  }
}
