/**
 * JSON that is stored as text: the results of attempts, without secrets and, when
 * they are long, only the beginning; and texts that are embedded in other JSON
 * without being parsed.
 *
 * @module
 */

import type { Scrubber } from "../secrets/scrub.ts";

/** Most bytes of a result's JSON text. */
export const MAX_RESULT_BYTES = 65_536;

/**
 * How much of a longer one is read, in characters of its JSON text. To take
 * secrets out of a megabyte takes longer than others may be held up; what is
 * taken out makes the text shorter, mostly by less than this.
 */
const MAX_READ_CHARS = MAX_RESULT_BYTES + 16_384;

/** The part of an event that carries a result. */
interface KeptResult {
  /** The result as JSON text. */
  readonly resultJson: string;
  /** Whether it is only the beginning. */
  readonly isResultTruncated?: true;
}

/** Circumstances of a result. */
interface ResultOptions {
  /**
   * Whether it lacks its end already; it is a text then.
   * @default {false}
   */
  readonly isTruncated?: boolean | undefined;
  /**
   * Takes secrets out.
   * @default there are none
   */
  readonly scrubber?: Scrubber | undefined;
}

/**
 * Takes the secrets out of a result and, when its JSON text is longer than
 * {@linkcode MAX_RESULT_BYTES}, keeps as a string the longest beginning of that
 * text that fits; of a result that is a string, the longest beginning of itself.
 */
export function keptResult(
  result: unknown,
  options: ResultOptions = {},
): KeptResult {
  const { scrubber } = options;
  const begin = beginningOf(result, {
    maxChars: MAX_READ_CHARS,
    cut: scrubber && cutWith(scrubber),
  });
  const isTruncated = options.isTruncated === true || begin.isCut;
  const clean = options.isTruncated === true && typeof result === "string"
    ? scrubber?.scrubText(result, { isCut: true }) ?? result
    : scrubber?.scrubJson(begin.value) ?? begin.value;
  const resultJson = JSON.stringify(clean ?? null);
  if (!begin.isCut && byteLength(resultJson) <= MAX_RESULT_BYTES) {
    return isTruncated
      ? { resultJson, isResultTruncated: true }
      : { resultJson };
  }
  const text = typeof clean === "string" ? clean : resultJson;
  return { resultJson: longestBeginning(text), isResultTruncated: true };
}

/** Cuts a string, and takes a secret out that the cut leaves the beginning of. */
export function cutWith(
  scrubber: Scrubber,
): (text: string, chars: number) => string {
  return (text, chars) =>
    scrubber.scrubText(text.slice(0, chars), { isCut: true });
}

/** The longest beginning of a text that fits as a JSON string, as such a string. */
function longestBeginning(text: string): string {
  const whole = text.slice(0, MAX_RESULT_BYTES).toWellFormed();
  const beginning = (chars: number): string => {
    const begin = whole.slice(0, chars);
    // The last character may have been cut in two.
    return JSON.stringify(begin.isWellFormed() ? begin : begin.slice(0, -1));
  };
  // Each character is a byte at least, and there are two quotes.
  let [fitting, tooMany] = [0, MAX_RESULT_BYTES - 1];
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (byteLength(beginning(middle)) <= MAX_RESULT_BYTES) fitting = middle;
    else tooMany = middle;
  }
  return beginning(fitting);
}

function byteLength(text: string): number {
  // A character is three bytes at most, so most texts need no encoding.
  return text.length * 3 <= MAX_RESULT_BYTES
    ? text.length
    : new TextEncoder().encode(text).byteLength;
}

/** The beginning of a value. */
interface Beginning {
  /** As much of it as was asked for; what is in it is the value's own. */
  readonly value: unknown;
  /** Whether there is more. */
  readonly isCut: boolean;
}

/** Options of {@linkcode beginningOf}. */
interface BeginningOptions {
  /** About how many characters its JSON text may have. */
  readonly maxChars: number;
  /**
   * Cuts a string to its first `chars` characters.
   * @default nothing but that
   */
  readonly cut?: ((text: string, chars: number) => string) | undefined;
}

/**
 * The beginning of a value that was parsed from JSON, in the order of its text.
 * However long the value is, no more of it is read than is returned.
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

/** A text that is no longer is as quickly parsed as put in its place. */
const SHORT_CHARS = 2_048;

/** Texts that take the places of their marks when the JSON around them is written. */
export class EmbeddedJson {
  /** It cannot be guessed, so no text of a client passes for a mark. */
  #mark = "";
  readonly #texts: string[] = [];

  /** The placeholder of a JSON text in a value that {@linkcode stringify} writes. */
  place(json: string): unknown {
    if (json.length <= SHORT_CHARS) return JSON.parse(json);
    if (this.#mark === "") this.#mark = crypto.randomUUID();
    return this.#mark + (this.#texts.push(json) - 1);
  }

  /** Writes a value as JSON, with the texts in their places. */
  stringify(value: unknown): string {
    const text = JSON.stringify(value);
    if (this.#texts.length === 0) return text;
    const [first = "", ...pieces] = text.split(`"${this.#mark}`);
    return first + pieces.map((piece) => {
      const end = piece.indexOf('"');
      return this.#texts[Number(piece.slice(0, end))] + piece.slice(end + 1);
    }).join("");
  }
}
