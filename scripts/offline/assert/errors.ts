/**
 * Assertions about what a function throws, or what a promise rejects with.
 *
 * @module
 */

import { AssertionError, suffix } from "./failure.ts";

/**
 * A class of errors, which may be abstract, with any parameters of its
 * constructor.
 */
export type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/** What the caller expects: nothing, a message, or a class and more. */
type Expected = readonly [
  classOrMsg?: ErrorClass<Error> | string,
  text?: string,
  msg?: string,
];

/** Asserts that `fn` throws, and returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/**
 * Asserts that `fn` throws an error of a class, with a text in its message, and
 * returns it.
 */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  ...expected: Expected
): unknown {
  try {
    fn();
  } catch (error) {
    return checked(error, "thrown", expected);
  }
  throw failure("Expected function to throw", expected);
}

/** Asserts that the promise of `fn` rejects, and returns the reason. */
export function assertRejects(
  fn: () => PromiseLike<unknown>,
  msg?: string,
): Promise<unknown>;
/**
 * Asserts that the promise of `fn` rejects with an error of a class, with a text
 * in its message, and returns it. A function that throws before it returns a
 * promise fails the assertion.
 */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  ...expected: Expected
): Promise<unknown> {
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (cause) {
    throw failure("Function throws when expected to reject", expected, cause);
  }
  try {
    await promise;
  } catch (error) {
    return checked(error, "rejected", expected);
  }
  throw failure("Expected function to reject", expected);
}

function failure(
  what: string,
  [classOrMsg, , msg]: Expected,
  cause?: unknown,
): AssertionError {
  const said = typeof classOrMsg === "string" ? classOrMsg : msg;
  const options = cause === undefined ? {} : { cause };
  return new AssertionError(`${what}${suffix(said)}`, options);
}

/** Returns the error when it is the expected one. */
function checked(
  error: unknown,
  how: "thrown" | "rejected",
  expected: Expected,
): unknown {
  const [type, text] = expected;
  if (type === undefined || typeof type === "string") return error;
  if (!(error instanceof Error)) {
    throw failure(`A non-Error object was ${how}`, expected);
  }
  const { name } = error.constructor;
  if (!(error instanceof type)) {
    const what = `Expected error to be instance of "${type.name}", but was ` +
      `"${name}"`;
    throw failure(what, expected, error);
  }
  if (text !== undefined && !error.message.includes(text)) {
    const what = `Expected error message to include ${JSON.stringify(text)}, ` +
      `but got ${JSON.stringify(error.message)}`;
    throw failure(what, expected, error);
  }
  return error;
}
