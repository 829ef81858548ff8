/**
 * Stands in for `@std/assert` where JSR cannot be reached: the assertions that
 * this project uses, with the rules and the types of the real ones. See the
 * README beside this folder.
 *
 * @module
 */

import { equal } from "./equal.ts";
import { AssertionError, difference, format, suffix } from "./failure.ts";

export { assertRejects, assertThrows } from "./errors.ts";
export { AssertionError } from "./failure.ts";

/** Asserts that `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Fails unconditionally. */
export function fail(msg?: string): never {
  throw new AssertionError(`Failed assertion${suffix(msg)}`);
}

/** Asserts that two values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  throw new AssertionError(
    `Values are not equal${suffix(msg)}` +
      difference(format(actual), format(expected)),
  );
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  throw new AssertionError(
    `Expected actual: ${format(actual)} not to be: ${format(expected)}` +
      suffix(msg),
  );
}

/** Asserts that two values are the same, as defined by `Object.is`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  const [a, b] = [format(actual), format(expected)];
  throw new AssertionError(
    a === b
      ? "Values have the same structure but are not reference-equal" +
        `${suffix(msg)}\n\n${a}\n`
      : `Values are not strictly equal${suffix(msg)}${difference(a, b)}`,
  );
}

/** Asserts that a value is neither undefined nor null. */
export function assertExists<T>(
  actual: T,
  msg?: string,
): asserts actual is NonNullable<T> {
  if (actual !== undefined && actual !== null) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not be null or undefined${suffix(msg)}`,
  );
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expectedType: abstract new (...args: never[]) => T,
  msg = "",
): asserts actual is T {
  if (actual instanceof expectedType) return;
  throw new AssertionError(
    `Expected object to be an instance of "${expectedType.name}" but was ` +
      `"${typeName(actual)}"${suffix(msg)}`,
  );
}

/** Asserts that a text matches a pattern. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  if (expected.test(actual)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to match: "${expected}"${suffix(msg)}`,
  );
}

/** Asserts that a text contains another. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to contain: "${expected}"${suffix(msg)}`,
  );
}

/**
 * Asserts that two numbers differ by no more than `tolerance`, which is a
 * ten-millionth of `expected` when it is not given.
 */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ??
    (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  const delta = Math.abs(expected - actual);
  if (delta <= allowed) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to be close to "${expected}": delta ` +
      `"${delta}" is greater than "${allowed}"${suffix(msg)}`,
  );
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return value.constructor?.name ?? "Object";
}
