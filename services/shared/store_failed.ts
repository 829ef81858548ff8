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

/**
 * The store refuses a commit because too much waits to be written; the caller
 * should try again later.
 */
export class StoreBusyError extends Error {
  /** The name in logs. */
  override readonly name = "StoreBusyError";
  /** After how many milliseconds to try again. */
  readonly retryAfterMs: number;

  /** Takes the milliseconds after which to try again. */
  constructor(retryAfterMs: number) {
    super("Cannot write: too many writes are waiting");
    this.retryAfterMs = retryAfterMs;
  }
}
