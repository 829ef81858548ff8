/**
 * The hash function of histories and tokens, and a cache of its results.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Digest } from "../domain/history.ts";

/** SHA-256 of a text in base64url. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/**
 * The shortest text that is cached, in characters: a shorter one is digested
 * faster than it is looked up.
 */
const MIN_REMEMBERED_CHARS = 2_048;
/** The most characters of all cached texts together. */
const MAX_REMEMBERED_CHARS = 4_000_000;

interface Digested {
  readonly hash: string;
  readonly chars: number;
}

/** Wraps a digest with a cache of the results for long texts. */
export function rememberingLong(digest: Digest): Digest {
  const known = new BoundedMap<string, Digested>({
    maxEntries: Infinity,
    maxWeight: MAX_REMEMBERED_CHARS,
    weightOf: ({ chars }) => chars,
  });
  return (text) => {
    if (text.length <= MIN_REMEMBERED_CHARS) return digest(text);
    const found = known.get(text);
    if (found !== undefined) return found.hash;
    const hash = digest(text);
    known.set(text, { hash, chars: text.length });
    return hash;
  };
}
