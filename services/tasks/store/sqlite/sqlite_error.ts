/**
 * What SQLite's errors mean.
 *
 * @module
 */

import { StoreFailedError } from "../store_failed_error.ts";

/** The primary code of a violated constraint. */
const CONSTRAINT = 19;
/** The primary code of a file that cannot be opened, or not be made. */
const CANNOT_OPEN = 14;

/** Tells whether an error says that a constraint is violated. */
export function isConstraintError(error: unknown): boolean {
  return hasCode(error, CONSTRAINT);
}

/** Tells whether an error says that a file cannot be opened, or not be made. */
export function isCannotOpenError(error: unknown): boolean {
  return hasCode(error, CANNOT_OPEN);
}

function hasCode(error: unknown, code: number): boolean {
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  // The low byte is the primary code, the rest says more precisely what it is.
  return typeof error.errcode === "number" && (error.errcode & 0xff) === code;
}

/** An error of SQLite is one of the store to whoever asked it; others stay as they are. */
export function storeErrorOf(error: unknown): unknown {
  if (!(error instanceof Error) || !("errcode" in error)) return error;
  return new StoreFailedError(`Cannot read: ${error.message}`, {
    cause: error,
  });
}
