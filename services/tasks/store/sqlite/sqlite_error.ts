/**
 * What SQLite's errors mean.
 *
 * @module
 */

/** The primary code of a violated constraint. */
const CONSTRAINT = 19;

/** Tells whether an error says that a constraint is violated. */
export function isConstraintError(error: unknown): boolean {
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  // The low byte is the primary code, the rest says more precisely what it is.
  return typeof error.errcode === "number" &&
    (error.errcode & 0xff) === CONSTRAINT;
}
