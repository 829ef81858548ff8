/**
 * Ed25519 (RFC 8032) as WebCrypto has it: how a seed becomes a key.
 *
 * @module
 */

import { MemError } from "./errors.ts";

/** A pair of keys. */
export interface Ed25519Keys {
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** Signs; cannot be read out. */
  readonly signingKey: CryptoKey;
}

/** What stands before the seed in PKCS #8 (RFC 8410, section 7). */
const PKCS8_PREFIX: readonly number[] = [
  ...[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06],
  ...[0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20],
];

/**
 * Makes the keys of a seed of 32 bytes.
 *
 * @throws {MemError} When the runtime's WebCrypto is missing or lacks Ed25519.
 */
export async function importSeed(seed: Uint8Array): Promise<Ed25519Keys> {
  const subtle = subtleCrypto();
  const pkcs8 = Uint8Array.from([...PKCS8_PREFIX, ...seed]);
  try {
    const publicKey = await publicKeyOf(pkcs8, subtle);
    const signingKey = await subtle.importKey(
      "pkcs8",
      pkcs8,
      "Ed25519",
      false,
      ["sign"],
    );
    return { publicKey, signingKey };
  } catch (cause) {
    throw new MemError(
      "Cannot use the private key: this runtime's WebCrypto has no Ed25519; " +
        "take Deno, Node 20 or newer, Bun, or a current browser",
      { cause },
    );
  } finally {
    pkcs8.fill(0);
  }
}

/**
 * The runtime's WebCrypto.
 *
 * @throws {MemError} When there is none.
 */
export function subtleCrypto(): SubtleCrypto {
  // Types promise it; a page that came over plain HTTP has none all the same.
  const found: Crypto | undefined = globalThis.crypto;
  const subtle: SubtleCrypto | undefined = found?.subtle;
  if (subtle !== undefined) return subtle;
  throw new MemError(
    "Cannot sign: this runtime has no WebCrypto; a page must be served over " +
      "HTTPS or from localhost",
  );
}

/**
 * WebCrypto gives a public key for a private one only through a key that can be
 * read out. That one, and its text, are dropped here and live nowhere else.
 */
async function publicKeyOf(
  pkcs8: Uint8Array<ArrayBuffer>,
  subtle: SubtleCrypto,
): Promise<Uint8Array<ArrayBuffer>> {
  const readable = await subtle.importKey(
    "pkcs8",
    pkcs8,
    "Ed25519",
    true,
    ["sign"],
  );
  const { x } = await subtle.exportKey("jwk", readable);
  if (x === undefined) throw new TypeError("the key has no public part");
  const text = atob(x.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
