/**
 * Ed25519 (RFC 8032) as ledgers use it: addresses of keys, and the signatures
 * under transactions.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { blake2b256, hexId } from "./digest.ts";

/**
 * Stands before an Ed25519 key or signature (the ledger's signature schemes).
 */
const ED25519_FLAG = 0x00;
/** Bytes of a public key. */
export const PUBLIC_KEY_BYTES = 32;
/** Bytes of a signature without its flag and key. */
const SIGNATURE_BYTES = 64;

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
 * Tells whether anyone can forge signatures under a public key of 32 bytes: its
 * point has an order that divides 8. A signature check multiplies the key by a
 * hash; with such a point there are at most eight results, so a signature can
 * be guessed, and for the neutral point one signature is valid for every
 * message. Such a key, once registered for an account, would let everybody in.
 *
 * The key is recognized in whatever way it is written: with either sign, and
 * with y as it is or with the prime added.
 */
export function isSmallOrderKey(bytes: Uint8Array): boolean {
  let y = 0n;
  for (const byte of [...bytes].reverse()) y = (y << 8n) | BigInt(byte);
  // The highest bit is the sign of x.
  return SMALL_ORDER_YS.has((y & (2n ** 255n - 1n)) % PRIME);
}

/** The address of a public key: BLAKE2b-256 over a flag and the key. */
export function addressOfKey(publicKey: Uint8Array): string {
  return hexId(blake2b256(Uint8Array.of(ED25519_FLAG), publicKey));
}

/**
 * The intent of a transaction: its scope, version 0, and the ledger's own id.
 */
const TRANSACTION_INTENT = Uint8Array.of(0, 0, 0);

/** The outcome of checking a signature. */
type SignatureOutcome =
  | { readonly kind: "ok" }
  /** It is not the sender's. */
  | { readonly kind: "invalid"; readonly reason: string };

/** What was signed, and who should have. */
interface SignedTransactionParts {
  /** The transaction's bytes. */
  readonly data: Uint8Array;
  /** Flag, signature and public key. */
  readonly signature: Uint8Array;
  /** The address that the signature has to be of. */
  readonly sender: string;
}

/**
 * Checks that a transaction is signed by its sender: flag 0x00, 64 bytes of
 * signature and 32 of public key, over BLAKE2b-256 of the intent and the bytes.
 * Other schemes are refused.
 */
export function checkTransactionSignature(
  { data, signature, sender }: SignedTransactionParts,
): SignatureOutcome {
  if (signature[0] !== ED25519_FLAG) {
    return invalid("only Ed25519 signatures are taken");
  }
  if (signature.length !== 1 + SIGNATURE_BYTES + PUBLIC_KEY_BYTES) {
    return invalid(`it has ${signature.length} bytes instead of 97`);
  }
  const publicKey = signature.subarray(1 + SIGNATURE_BYTES);
  if (addressOfKey(publicKey) !== sender) {
    return invalid("its key is not the sender's");
  }
  if (isSmallOrderKey(publicKey)) {
    return invalid("everybody can sign under its key");
  }
  const message = blake2b256(TRANSACTION_INTENT, data);
  const signed = signature.subarray(1, 1 + SIGNATURE_BYTES);
  return isSigned({ publicKey, message, signature: signed })
    ? { kind: "ok" }
    : invalid("it does not belong to the transaction");
}

function invalid(state: string): SignatureOutcome {
  return { kind: "invalid", reason: `Cannot accept signature: ${state}` };
}

function isSigned(
  { publicKey, message, signature }: {
    readonly publicKey: Uint8Array;
    readonly message: Uint8Array;
    readonly signature: Uint8Array;
  },
): boolean {
  const x = Buffer.from(publicKey).toString("base64url");
  try {
    const key = createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x },
      format: "jwk",
    });
    return verify(null, message, key, signature);
  } catch {
    // The runtime has no other way to say that this is no point of the curve.
    return false;
  }
}
