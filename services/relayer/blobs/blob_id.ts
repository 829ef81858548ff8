/**
 * Ids of blobs that are kept as files: the hash of the content, so that the same
 * bytes are one blob, and a file that was changed is noticed.
 *
 * @module
 */

import { createHash } from "node:crypto";

const FORM = /^[A-Za-z0-9_-]{43}$/;

/** The id of bytes: their SHA-256 as base64url without padding. */
export function blobIdOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/** Where a blob is within the folder; undefined when the id is none. */
export function blobPath(
  blobId: string,
): { readonly folder: string; readonly name: string } | undefined {
  if (!FORM.test(blobId)) return undefined;
  // As hexadecimal digits: some file systems take upper and lower case for one.
  const hex = Uint8Array.fromBase64(blobId, { alphabet: "base64url" }).toHex();
  return { folder: hex.slice(0, 2), name: hex.slice(2) };
}
