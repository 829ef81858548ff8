/**
 * Checks of single values that a client is made with.
 *
 * @module
 */

/**
 * A text with at least one character.
 *
 * @throws {TypeError} When it is something else.
 */
export function textOf(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw configFault(`${name} is ${value === "" ? "empty" : "no text"}`);
}

/**
 * A list of anything.
 *
 * @throws {TypeError} When it is something else.
 */
export function listOf(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw configFault(`${name} is no list`);
}

/** The error of a client that cannot be made; `state` says why. */
export function configFault(state: string): TypeError {
  return new TypeError(`Cannot create a client: ${state}`);
}
