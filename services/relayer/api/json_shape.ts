/**
 * How deep and how wide a JSON text is, before anything is made of it. A parser
 * takes a fifth of a second for two megabytes of brackets, and as long for as
 * many names, while everybody else waits.
 *
 * @module
 */

/** Bounds of a shape. */
export interface JsonShapeLimits {
  /** Most lists and objects within each other. */
  readonly maxDepth: number;
  /** Most values, lists and objects counted too. */
  readonly maxValues: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = [0x5b, 0x7b] as const;
const CLOSING = [0x5d, 0x7d] as const;

/**
 * What is wrong with the shape of a text; undefined when nothing is. Whether it is
 * JSON at all is for the parser to say: up to its first fault both read the same.
 *
 * @param bytes The text in UTF-8.
 */
export function jsonShapeFault(
  bytes: Uint8Array,
  { maxDepth, maxValues }: JsonShapeLimits,
): string | undefined {
  let depth = 0;
  // Every value but the first of its list follows a comma.
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case COMMA:
        values++;
        break;
      case OPENING[0]:
      case OPENING[1]:
        depth++;
        values++;
        break;
      case CLOSING[0]:
      case CLOSING[1]:
        depth--;
        break;
      default:
        continue;
    }
    if (depth > maxDepth) {
      return `the body is nested more than ${maxDepth} deep`;
    }
    if (values > maxValues) return `the body has more than ${maxValues} values`;
  }
  return undefined;
}

/** Where the quotation mark is that ends a string; the end when there is none. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  do {
    at = bytes.indexOf(QUOTE, at + 1);
    if (at === -1) return bytes.length;
  } while (isEscaped(bytes, { at, from }));
  return at;
}

/** Whether an odd number of backslashes stands before it. */
function isEscaped(
  bytes: Uint8Array,
  { at, from }: { readonly at: number; readonly from: number },
): boolean {
  let before = at - 1;
  while (before > from && bytes[before] === BACKSLASH) before--;
  return (at - 1 - before) % 2 === 1;
}
