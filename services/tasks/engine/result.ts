/**
 * What is kept of a result.
 *
 * @module
 */

import type { Scrubber } from "../secrets/scrub.ts";

/** Most bytes of a result's JSON text. */
export const MAX_RESULT_BYTES = 65_536;

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
 * {@linkcode MAX_RESULT_BYTES}, keeps the beginning of that text as a string.
 */
export function keptResult(
  result: unknown,
  options: ResultOptions = {},
): KeptResult {
  const { isTruncated = false, scrubber } = options;
  const clean = isTruncated && typeof result === "string"
    ? scrubber?.scrubText(result, { isCut: true }) ?? result
    : scrubber?.scrubJson(result) ?? result;
  const resultJson = JSON.stringify(clean ?? null);
  if (byteLength(resultJson) <= MAX_RESULT_BYTES) {
    return isTruncated
      ? { resultJson, isResultTruncated: true }
      : { resultJson };
  }
  // Escapes and wide characters can make a string eight times its length.
  const text = typeof clean === "string" ? clean : resultJson;
  let chars = MAX_RESULT_BYTES;
  let kept = JSON.stringify(text.slice(0, chars).toWellFormed());
  while (byteLength(kept) > MAX_RESULT_BYTES) {
    chars = Math.floor(chars / 2);
    kept = JSON.stringify(text.slice(0, chars).toWellFormed());
  }
  return { resultJson: kept, isResultTruncated: true };
}

function byteLength(text: string): number {
  // A character is three bytes at most, so most texts need no encoding.
  return text.length * 3 <= MAX_RESULT_BYTES
    ? text.length
    : new TextEncoder().encode(text).byteLength;
}
