/**
 * The hash of histories and tokens.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Digest } from "../domain/history.ts";

/** SHA-256 of a text in base64url. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** The same digest for who often asks for that of one text several times in a row. */
export function rememberingLast(digest: Digest): Digest {
  let last: { readonly text: string; readonly hash: string } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, hash: digest(text) };
    return last.hash;
  };
}
