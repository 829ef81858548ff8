/**
 * Assertions about what a function throws, or what a promise rejects with.
 *
 * @module
 */

import { AssertionError, suffix } from "./assertion_error.ts";

/**
 * A class of errors, which may be abstract, with any parameters of its
 * constructor.
 */
export type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/** The error that the caller expects. */
interface Expectation {
  readonly type: ErrorClass<Error> | undefined;
  readonly text: string | undefined;
  readonly msg: string | undefined;
}

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
  classOrMsg?: ErrorClass<Error> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  const expectation = readExpectation(classOrMsg, msgIncludes, msg);
  try {
    fn();
  } catch (error) {
    checkError(error, "thrown", expectation);
    return error;
  }
  throw new AssertionError(
    `Expected function to throw${suffix(expectation.msg)}`,
  );
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
  classOrMsg?: ErrorClass<Error> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  const expectation = readExpectation(classOrMsg, msgIncludes, msg);
  const promise = callForPromise(fn, expectation);
  try {
    await promise;
  } catch (error) {
    checkError(error, "rejected", expectation);
    return error;
  }
  throw new AssertionError(
    `Expected function to reject${suffix(expectation.msg)}`,
  );
}

function readExpectation(
  classOrMsg: ErrorClass<Error> | string | undefined,
  text: string | undefined,
  msg: string | undefined,
): Expectation {
  return typeof classOrMsg === "string"
    ? { type: undefined, text: undefined, msg: classOrMsg }
    : { type: classOrMsg, text, msg };
}

function callForPromise(
  fn: () => PromiseLike<unknown>,
  expectation: Expectation,
): PromiseLike<unknown> {
  const message = "Function throws when expected to reject" +
    suffix(expectation.msg);
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (error) {
    throw new AssertionError(message, { cause: error });
  }
  if (typeof promise?.then !== "function") throw new AssertionError(message);
  return promise;
}

function checkError(
  error: unknown,
  how: "thrown" | "rejected",
  { type, text, msg }: Expectation,
): void {
  if (type === undefined) return;
  if (!(error instanceof Error)) {
    throw new AssertionError(`A non-Error object was ${how}${suffix(msg)}`);
  }
  const actualName = error.constructor.name;
  if (!(error instanceof type)) {
    throw new AssertionError(
      `Expected error to be instance of "${type.name}", but was ` +
        `"${actualName}"${suffix(msg)}`,
      { cause: error },
    );
  }
  if (text !== undefined && !error.message.includes(text)) {
    throw new AssertionError(
      `Expected error message to include ${JSON.stringify(text)}, but got ` +
        JSON.stringify(error.message) + suffix(msg),
      { cause: error },
    );
  }
}
