/**
 * The error of a failed assertion.
 *
 * @module
 */

/** Thrown when an assertion fails. */
export class AssertionError extends Error {
  /** The name that distinguishes the error in a report. */
  override readonly name = "AssertionError";
}

/** Returns the end of a message: the caller's own message, if there is one. */
export function suffix(msg: string | undefined): string {
  return msg ? `: ${msg}` : ".";
}
