/**
 * Checks Ed25519 signatures (RFC 8032).
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";

/** The prime of the field, 2^255 − 19. */
const PRIME = 2n ** 255n - 19n;

/** The y of the four points of order 8 is this or its negative. */
const ORDER_8_Y =
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;

/** y of all points whose order divides 8. */
const SMALL_ORDER_YS: ReadonlySet<bigint> = new Set([
  0n, // order 4
  1n, // the neutral point
  PRIME - 1n, // order 2
  ORDER_8_Y,
  PRIME - ORDER_8_Y,
]);

/**
 * Tells whether a key of 32 bytes is such a point, in whatever way it is
 * written: with either sign, and with y as it is or with the prime added.
 */
export function isSmallOrderKey(bytes: Uint8Array): boolean {
  let y = 0n;
  for (const byte of [...bytes].reverse()) y = (y << 8n) | BigInt(byte);
  // The highest bit is the sign of x.
  return SMALL_ORDER_YS.has((y & (2n ** 255n - 1n)) % PRIME);
}

/** A signature to be checked. */
export interface SignatureCheck {
  /** The public key, 64 lower-case hexadecimal digits. */
  readonly publicKey: string;
  /** What was signed. */
  readonly message: Uint8Array;
  /** The signature, 64 bytes. */
  readonly signature: Uint8Array;
}

/** Options of {@linkcode SignatureVerifier}. */
interface SignatureVerifierOptions {
  /**
   * Most keys that are kept ready for use.
   *
   * @default {10000}
   */
  readonly maxKeys?: number;
}

/**
 * Checks signatures and remembers the keys. Of the two ways the runtime offers,
 * this one takes half the time: the other does the same work on the same thread
 * and adds a promise.
 */
export class SignatureVerifier {
  readonly #keys: BoundedMap<string, KeyObject | "none">;

  /** Knows no key yet. */
  constructor(options: SignatureVerifierOptions = {}) {
    this.#keys = new BoundedMap({ maxEntries: options.maxKeys ?? 10_000 });
  }

  /**
   * Tells whether a signature is the key's. What is no key, or one that signs
   * nothing in particular, has no good signatures.
   */
  verify(check: SignatureCheck): boolean {
    if (check.signature.byteLength !== 64) return false;
    const key = this.#keyOf(check.publicKey);
    if (key === "none") return false;
    try {
      return verify(null, check.message, key, check.signature);
    } catch {
      // Thrown for bytes that are no point of the curve: no key at all.
      this.#keys.set(check.publicKey, "none");
      return false;
    }
  }

  #keyOf(publicKey: string): KeyObject | "none" {
    const known = this.#keys.get(publicKey);
    if (known !== undefined) return known;
    const key = importKey(publicKey);
    this.#keys.set(publicKey, key);
    return key;
  }
}

function importKey(publicKey: string): KeyObject | "none" {
  if (!/^[0-9a-f]{64}$/.test(publicKey)) return "none";
  const bytes = Buffer.from(publicKey, "hex");
  if (isSmallOrderKey(bytes)) return "none";
  const x = bytes.toString("base64url");
  try {
    return createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x },
      format: "jwk",
    });
  } catch {
    // The runtime has no other way to say that this is no key.
    return "none";
  }
}
