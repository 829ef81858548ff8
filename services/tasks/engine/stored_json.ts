/**
 * JSON that is stored as text: the results of attempts, with secrets removed
 * and long ones cut, and JSON texts that are embedded in other JSON without
 * being parsed.
 *
 * @module
 */

import type { ReadWait } from "../domain/wait_schema.ts";
import type { Scrubber } from "../secrets/scrub.ts";

/** The most bytes of a result's JSON text that are stored. */
export const MAX_RESULT_BYTES = 65_536;

/**
 * How many characters of a longer result's JSON text are read. Removing secrets
 * from a megabyte would hold up other requests for too long. Each removed
 * secret makes the text shorter, mostly by less than this margin in all.
 */
const MAX_READ_CHARS = MAX_RESULT_BYTES + 16_384;

/** The fields of an event that hold a result. */
interface KeptResult {
  /** The result as JSON text. */
  readonly resultJson: string;
  /** Whether the text is only the beginning of the result. */
  readonly isResultTruncated?: true;
}

/** Removes the secrets from what a worker says that its task waits for. */
export function cleanWait(
  wait: ReadWait,
  scrubber: Scrubber | undefined,
): ReadWait {
  if (scrubber === undefined) return wait;
  const { message, stateJson } = wait;
  return {
    ...wait,
    message: message === undefined ? undefined : scrubber.scrubText(message),
    stateJson: stateJson === undefined
      ? undefined
      : JSON.stringify(scrubber.scrubJson(JSON.parse(stateJson))),
  };
}

/** How a result is stored. */
interface ResultOptions {
  /**
   * Whether the result was already cut; it is a string then.
   *
   * @default {false}
   */
  readonly isTruncated?: boolean | undefined;
  /**
   * Removes secrets from the result.
   *
   * @default there are no secrets
   */
  readonly scrubber?: Scrubber | undefined;
}

/**
 * Removes the secrets from a result. When its JSON text is longer than
 * {@linkcode MAX_RESULT_BYTES}, the result becomes a string: the longest
 * beginning of that text that fits or, if the result itself is a string, the
 * longest beginning of it.
 */
export function keptResult(
  result: unknown,
  options: ResultOptions = {},
): KeptResult {
  const { scrubber } = options;
  const begin = copyBeginning(result, {
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

/**
 * Returns a function that cuts a string and removes secrets, including the rest
 * of a secret that was cut in two.
 */
export function cutWith(
  scrubber: Scrubber,
): (text: string, chars: number) => string {
  return (text, chars) =>
    scrubber.scrubText(text.slice(0, chars), { isCut: true });
}

/** The longest beginning of a text whose JSON string fits, as a JSON string. */
function longestBeginning(text: string): string {
  const whole = text.slice(0, MAX_RESULT_BYTES).toWellFormed();
  const beginning = (chars: number): string => {
    const begin = whole.slice(0, chars);
    // The last character may be half of a surrogate pair.
    return JSON.stringify(begin.isWellFormed() ? begin : begin.slice(0, -1));
  };
  // Each character takes at least a byte, and the quotes take two.
  let [fitting, tooMany] = [0, MAX_RESULT_BYTES - 1];
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (byteLength(beginning(middle)) <= MAX_RESULT_BYTES) fitting = middle;
    else tooMany = middle;
  }
  return beginning(fitting);
}

function byteLength(text: string): number {
  // A character takes at most three bytes, so most texts need no encoding.
  return text.length * 3 <= MAX_RESULT_BYTES
    ? text.length
    : new TextEncoder().encode(text).byteLength;
}

/** The beginning of a value. */
interface Beginning {
  /**
   * As much of the value as was asked for; its parts are those of the original.
   */
  readonly value: unknown;
  /** Whether the original has more. */
  readonly isCut: boolean;
}

/** Options of {@linkcode copyBeginning}. */
interface BeginningOptions {
  /** The most characters of its JSON text, approximately. */
  readonly maxChars: number;
  /**
   * Cuts a string to its first `chars` characters.
   *
   * @default just cuts the string
   */
  readonly cut?: ((text: string, chars: number) => string) | undefined;
}

/**
 * Returns the beginning of a value that was parsed from JSON, in the order of
 * its text. However long the value is, no more of it is read than is returned.
 */
export function copyBeginning(
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
      // A value from JSON inherits no members, so all names are its own.
      const member = (from as Readonly<Record<string, unknown>>)[name];
      entries.push([name, copy(member)]);
    }
    if (!isWhole) left = Math.min(left, -1);
    // `fromEntries` defines members, so that "__proto__" is an ordinary member.
    return Object.fromEntries(entries);
  };
  const copied = copy(value);
  return left < 0 ? { value: copied, isCut: true } : { value, isCut: false };
}

/** Below this length a text is as quickly parsed as embedded, in characters. */
const SHORT_CHARS = 2_048;

/**
 * Writes JSON that embeds other JSON texts. Each text has a placeholder in the
 * value, which is replaced after the value is written.
 */
export class EmbeddedJson {
  /**
   * The prefix of placeholders. It cannot be guessed, so no text of a client
   * can be mistaken for a placeholder.
   */
  #mark = "";
  readonly #texts: string[] = [];

  /**
   * Returns the placeholder of a JSON text, for a value that
   * {@linkcode stringify} writes.
   */
  place(json: string): unknown {
    if (json.length <= SHORT_CHARS) return JSON.parse(json);
    if (this.#mark === "") this.#mark = crypto.randomUUID();
    return this.#mark + (this.#texts.push(json) - 1);
  }

  /** Writes a value as JSON, with the texts in place of their placeholders. */
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
