/**
 * The error of a store that cannot read or write.
 *
 * @module
 */

/** The store failed: its disk is full or broken, or a thread of it died. */
export class StoreFailedError extends Error {
  /** The name of the class. */
  override readonly name = "StoreFailedError";

  /** An error that says what failed. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
