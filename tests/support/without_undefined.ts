/**
 * Removes members that are undefined, to compare values for which such a member
 * means the same as a missing one.
 *
 * @module
 */

/**
 * Returns a copy without members that are undefined, at any depth of lists and
 * objects.
 */
export function withoutUndefined<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutUndefined) as T;
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => [name, withoutUndefined(member)]);
  return Object.fromEntries(members);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}
