/**
 * Keys for the tests of this folder.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { KEY_BYTES } from "../../../shared/master_keys.ts";
import { MasterKeys, SealingKey } from "../master_keys.ts";

/** A random key with this id. */
export function keyNamed(id: string): SealingKey {
  return new SealingKey(randomBytes(KEY_BYTES), { id });
}

/** A ring of random keys with these ids, the first being the current one. */
export function createRing(current: string, ...older: string[]): MasterKeys {
  return new MasterKeys(keyNamed(current), older.map(keyNamed));
}

/** The text with one bit of what it encodes in base64url flipped. */
export function flipBit(sealed: string, bit: number): string {
  const bytes = Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
  const byte = bit >> 3;
  bytes[byte] = (bytes[byte] ?? 0) ^ (1 << (bit & 7));
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
