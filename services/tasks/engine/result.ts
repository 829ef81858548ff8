/**
 * What is kept of a result.
 *
 * @module
 */

import type { Scrubber } from "../secrets/scrub.ts";
import { beginningOf } from "./json_beginning.ts";

/** Most bytes of a result's JSON text. */
export const MAX_RESULT_BYTES = 65_536;

/**
 * How much of a longer one is looked at, in characters of its JSON text. To take
 * secrets out of a megabyte takes longer than others may be held up; what is
 * taken out makes the text shorter, mostly by less than this.
 */
const MAX_READ_CHARS = MAX_RESULT_BYTES + 16_384;

/** The part of an event that carries a result. */
export interface KeptResult {
  /** The result as JSON text. */
  readonly resultJson: string;
  /** Whether it is only the beginning. */
  readonly isResultTruncated?: true;
}

/** Circumstances of a result. */
export interface ResultOptions {
  /**
   * Whether it lacks its end already; it is a text then.
   * @default {false}
   */
  readonly isTruncated?: boolean;
  /**
   * Takes secrets out.
   * @default there are none
   */
  readonly scrubber?: Scrubber;
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
    ...(scrubber === undefined ? {} : { cut: cutWith(scrubber) }),
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
