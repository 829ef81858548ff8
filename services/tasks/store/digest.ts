/**
 * The hash of histories and tokens.
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

/** Shorter texts are digested faster than they are looked up. */
const MIN_REMEMBERED_CHARS = 2_048;
/** Characters of all texts that are remembered. */
const MAX_REMEMBERED_CHARS = 4_000_000;

interface Digested {
  readonly hash: string;
  readonly chars: number;
}

/** The same digest, which remembers those of long texts that are asked for again. */
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
