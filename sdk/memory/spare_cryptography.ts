/**
 * Hashes, signs and verifies in JavaScript, for runtimes whose WebCrypto is
 * missing or has no Ed25519. It is loaded there alone, since it is larger than
 * the rest of the client.
 *
 * @module
 */

import { ed25519 } from "@noble/curves/ed25519.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 as hash } from "@noble/hashes/sha2.js";
import { MemDestroyedError } from "./errors.ts";

/** A pair of keys. */
export interface Ed25519Keys {
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** Signs bytes and returns the signature of 64 bytes. */
  readonly sign: (
    bytes: Uint8Array<ArrayBuffer>,
  ) => Promise<Uint8Array<ArrayBuffer>>;
  /** Overwrites the private key as far as the runtime allows. */
  readonly wipe: () => void;
  /** The private key, which cannot be exported, where WebCrypto has it. */
  readonly signingKey?: CryptoKey;
}

/** A signature, and what it may be over. */
export interface SignedBytes {
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** The signature, 64 bytes. */
  readonly signature: Uint8Array<ArrayBuffer>;
  /** What was signed. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Computes the SHA-256 hash, 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hash(bytes));
}

/** Computes the HMAC with SHA-256, 32 bytes. */
export function hmacSha256(
  key: Uint8Array,
  bytes: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hmac(hash, key, bytes));
}

/** Makes the key pair of a seed of 32 bytes, which it takes over. */
export function importSeed(seed: Uint8Array): Ed25519Keys {
  let isWiped = false;
  return {
    publicKey: Uint8Array.from(ed25519.getPublicKey(seed)),
    // deno-lint-ignore require-await -- errors reject, as those of WebCrypto
    sign: async (bytes) => {
      if (isWiped) throw new MemDestroyedError();
      return Uint8Array.from(ed25519.sign(bytes, seed));
    },
    wipe: () => {
      isWiped = true;
      seed.fill(0);
    },
  };
}

/**
 * Tells whether the signature was made with the private key of the public key,
 * by the rules of RFC 8032, as WebCrypto does.
 */
export function isSignedBy(
  { publicKey, signature, bytes }: SignedBytes,
): boolean {
  try {
    return ed25519.verify(signature, bytes, publicKey, { zip215: false });
  } catch {
    // Lengths that no key and no signature has.
    return false;
  }
}
