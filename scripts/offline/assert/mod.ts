/**
 * Stands in for `@std/assert` where JSR cannot be reached: the assertions that
 * this project uses, with the rules and the types of the real ones. See the
 * README beside this folder.
 *
 * @module
 */

export { AssertionError } from "./assertion_error.ts";
export { assertRejects, assertThrows } from "./errors.ts";
export {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertInstanceOf,
  assertMatch,
  assertNotEquals,
  assertStrictEquals,
  assertStringIncludes,
  fail,
} from "./values.ts";
