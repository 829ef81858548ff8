/**
 * Shows how the two values of a failed comparison differ.
 *
 * @module
 */

/** Returns a value as text, with each of its parts on a line. */
export function format(value: unknown): string {
  return Deno.inspect(value, {
    colors: false,
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
  const a = actual.split("\n");
  const b = expected.split("\n");
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]
  ) tail++;
  const lines = [
    ...a.slice(0, head).map((line) => `    ${line}`),
    ...a.slice(head, a.length - tail).map((line) => `-   ${line}`),
    ...b.slice(head, b.length - tail).map((line) => `+   ${line}`),
    ...a.slice(a.length - tail).map((line) => `    ${line}`),
  ];
  return ["", "", "    [Diff] Actual / Expected", "", "", ...lines, ""]
    .join("\n");
}
