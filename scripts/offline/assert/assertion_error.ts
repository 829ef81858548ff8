/**
 * The error of a failed assertion.
 *
 * @module
 */

/** Thrown when an assertion fails. */
export class AssertionError extends Error {
  /** Tells it from other errors in a report. */
  override readonly name = "AssertionError";
}

/** Ends a sentence, with the caller's own message where there is one. */
export function suffix(msg: string | undefined): string {
  return msg ? `: ${msg}` : ".";
}
