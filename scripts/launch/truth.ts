/**
 * Settings that are on or off.
 *
 * @module
 */

/**
 * Tells whether a variable such as `CI` is on. Systems write `true` or `1`;
 * `false`, `0` and the empty text mean off.
 */
export function isTrue(value: string | undefined): boolean {
  return value !== undefined && !["", "0", "false"].includes(value);
}
