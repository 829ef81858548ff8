/**
 * The error of a store that failed, whatever engine it has.
 *
 * @module
 */

/**
 * The store failed: its disk is full or broken, a thread of it died, or its
 * database does not answer. It is unknown whether a write was made.
 */
export class StoreFailedError extends Error {
  /** The name of the class. */
  override readonly name = "StoreFailedError";

  /** An error that says what failed. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
