/**
 * Digests of a ledger: 32 bytes, written in base58.
 *
 * @module
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { createHash } from "node:crypto";

/** Bytes of a digest. */
export const DIGEST_BYTES = 32;

/** Digits and letters without those that look alike. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/**
 * Digits that fit a number: a division of a bigint gives so many, and costs
 * about the same for each.
 */
const CHUNK_DIGITS = 9;
const CHUNK = 58n ** BigInt(CHUNK_DIGITS);
/** The longest text of 32 bytes. */
const MAX_DIGEST_CHARS = 44;

/** Bytes in base58; each zero byte in front becomes a "1". */
export function encodeBase58(bytes: Uint8Array): string {
  let text = "";
  for (let value = BigInt(`0x0${bytes.toHex()}`); value > 0n; value /= CHUNK) {
    let digits = Number(value % CHUNK);
    const isLast = value < CHUNK;
    for (let at = 0; isLast ? digits > 0 : at < CHUNK_DIGITS; at++) {
      text = ALPHABET[digits % 58] + text;
      digits = Math.floor(digits / 58);
    }
  }
  const first = bytes.findIndex((byte) => byte !== 0);
  const zeros = first === -1 ? bytes.length : first;
  return "1".repeat(zeros) + text;
}

/** The digest of a text; undefined when it is not 32 bytes in base58. */
export function decodeDigest(text: string): Uint8Array | undefined {
  if (text.length > MAX_DIGEST_CHARS) return undefined;
  let value = 0n;
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter);
    if (digit < 0) return undefined;
    value = value * 58n + BigInt(digit);
  }
  if (value >= 1n << 256n) return undefined;
  const bytes = new Uint8Array(DIGEST_BYTES);
  for (let at = DIGEST_BYTES - 1; at >= 0; at--, value >>= 8n) {
    bytes[at] = Number(value & 0xffn);
  }
  // Zeros in front are counted: 32 bytes have one text only.
  return encodeBase58(bytes) === text ? bytes : undefined;
}

/** BLAKE2b with 32 bytes, with which the ledger makes digests and addresses. */
export function blake2b256(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = blake2b.create({ dkLen: DIGEST_BYTES });
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** SHA-256, with which the embedded ledger makes ids of its own. */
export function sha256(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
}

/** Bytes of an address or an id as text: `0x` and hexadecimal digits. */
export function hexId(bytes: Uint8Array): string {
  return `0x${bytes.toHex()}`;
}
