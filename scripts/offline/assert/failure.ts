/**
 * The error of a failed assertion, and how it shows values.
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

/** Returns a value as text, with each of its parts on a line. */
export function format(value: unknown): string {
  return Deno.inspect(value, {
    compact: false,
    depth: Infinity,
    iterableLimit: Infinity,
    sorted: true,
    strAbbreviateSize: Infinity,
    trailingComma: true,
  });
}

/**
 * Returns the lines of both texts: common lines at the beginning and at the end
 * once, and between them the lines of `actual` with a minus, then those of
 * `expected` with a plus.
 */
export function difference(actual: string, expected: string): string {
  const [a, b] = [actual.split("\n"), expected.split("\n")];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return [
    ...["", "", "    [Diff] Actual / Expected", "", ""],
    ...a.slice(0, head).map((line) => `    ${line}`),
    ...a.slice(head, a.length - tail).map((line) => `-   ${line}`),
    ...b.slice(head, b.length - tail).map((line) => `+   ${line}`),
    ...a.slice(a.length - tail).map((line) => `    ${line}`),
    "",
  ].join("\n");
}
