/**
 * The beginnings of JSON values of which no more is kept.
 *
 * @module
 */

/** The beginning of a value. */
export interface Beginning {
  /** As much of it as was asked for; what is in it is the value's own. */
  readonly value: unknown;
  /** Whether there is more. */
  readonly isCut: boolean;
}

/** Options of {@linkcode beginningOf}. */
export interface BeginningOptions {
  /** About how many characters its JSON text may have. */
  readonly maxChars: number;
  /**
   * Cuts a string to its first `chars` characters.
   * @default nothing but that
   */
  readonly cut?: (text: string, chars: number) => string;
}

/**
 * The beginning of a value that was parsed from JSON, in the order of its text.
 * However much the value has, no more of it is looked at than is given.
 */
export function beginningOf(
  value: unknown,
  { maxChars, cut = (text, chars) => text.slice(0, chars) }: BeginningOptions,
): Beginning {
  let left = maxChars;
  const copy = (from: unknown): unknown => {
    if (typeof from === "string") {
      const text = from.length <= left ? from : cut(from, Math.max(0, left));
      left -= from.length + 2;
      return text;
    }
    if (typeof from !== "object" || from === null) {
      left -= typeof from === "number" ? 2 : 4;
      return from;
    }
    left -= 2;
    if (Array.isArray(from)) {
      const to: unknown[] = [];
      for (let at = 0; at < from.length && left > 0; at++) {
        to.push(copy(from[at]));
      }
      if (to.length < from.length) left = Math.min(left, -1);
      return to;
    }
    const entries: [string, unknown][] = [];
    let isWhole = true;
    for (const name in from) {
      if (left <= 0) {
        isWhole = false;
        break;
      }
      left -= name.length + 3;
      // The names are its own: nothing that JSON gives inherits any.
      const member = (from as Readonly<Record<string, unknown>>)[name];
      entries.push([name, copy(member)]);
    }
    if (!isWhole) left = Math.min(left, -1);
    // Defines members, so that "__proto__" is one like any other.
    return Object.fromEntries(entries);
  };
  const copied = copy(value);
  return left < 0 ? { value: copied, isCut: true } : { value, isCut: false };
}
