/**
 * Fixed windows, which are multiples of their length since the Unix epoch in
 * UTC, so weeks begin on Thursday; and the key of a counter in memory, which
 * begins with the length of its window and its algorithm.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Algorithm } from "../rules/algorithm.ts";

/** Returns the first second of the window that `nowSeconds` falls into. */
export function windowStartSeconds(
  nowSeconds: number,
  windowSeconds: number,
): number {
  return nowSeconds - nowSeconds % windowSeconds;
}

/** Returns the seconds to the end of the window, from 1 to `windowSeconds`. */
export function secondsUntilReset(
  nowSeconds: number,
  windowSeconds: number,
): number {
  return windowSeconds - nowSeconds % windowSeconds;
}

/**
 * Bytes before the key itself: 8 for the window's length, and one that tells
 * the algorithm and whether the key is a digest.
 */
const HEAD_BYTES = 9;
const TWO_POW_32 = 0x1_0000_0000;

/**
 * Longest key in bytes that is kept as it is. Longer keys are kept as a digest,
 * so that no caller decides how much memory a counter takes.
 */
export const MAX_PLAIN_KEY_BYTES = 247;

/**
 * Builds the key of a counter in its own memory: the window's length and the
 * caller's bytes, or the SHA-256 digest of these when they are many.
 */
export class CounterKey {
  /**
   * Holds the key from 0 up to {@linkcode CounterKey.end} until the next
   * {@linkcode CounterKey.write}.
   */
  readonly bytes: Uint8Array = new Uint8Array(HEAD_BYTES + MAX_PLAIN_KEY_BYTES);
  #end = 0;

  /** One past the last byte of the key. */
  get end(): number {
    return this.#end;
  }

  /** Writes the key of the counter for `keys` from `start` up to `end`. */
  write(
    keys: Uint8Array,
    range: {
      readonly algorithm: Algorithm;
      readonly keyStart: number;
      readonly keyEnd: number;
      readonly windowSeconds: number;
    },
  ): void {
    const { algorithm, keyStart, keyEnd, windowSeconds } = range;
    const kind = algorithm === "fixed_window"
      ? 0
      : algorithm === "sliding_window"
      ? 2
      : 4;
    const own = this.bytes;
    const low = windowSeconds >>> 0;
    own[0] = low;
    own[1] = low >>> 8;
    own[2] = low >>> 16;
    own[3] = low >>> 24;
    const high = windowSeconds < TWO_POW_32
      ? 0
      : Math.floor(windowSeconds / TWO_POW_32);
    own[4] = high;
    own[5] = high >>> 8;
    own[6] = high >>> 16;
    own[7] = high >>> 24;
    if (keyEnd - keyStart <= MAX_PLAIN_KEY_BYTES) {
      own[8] = kind;
      let at = HEAD_BYTES;
      for (let i = keyStart; i < keyEnd; i++) own[at++] = keys[i]!;
      this.#end = at;
      return;
    }
    // The mark keeps a digest apart from a short key of the same bytes.
    own[8] = kind + 1;
    const digest = createHash("sha256").update(keys.subarray(keyStart, keyEnd))
      .digest();
    own.set(digest, HEAD_BYTES);
    this.#end = HEAD_BYTES + digest.length;
  }
}
