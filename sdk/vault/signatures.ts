/**
 * Signs and verifies in the ledger's format: Ed25519 (RFC 8032) over the
 * BLAKE2b-256 hash of the signed bytes, with three bytes before them that say
 * what the signature is meant for. A signature is sent as Base64 of a zero
 * byte, which stands for Ed25519, the signature and the public key, so that the
 * signer's address can be computed from it.
 *
 * @module
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { decodeBase64, encodeBase64, encodeHex } from "../memory/encodings.ts";
import { importSeed, isSignedBy } from "../memory/cryptography.ts";
import { BcsWriter } from "./bcs.ts";

const ED25519_FLAG = 0x00;
const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const DIGEST_BYTES = 32;

/** What a signature is meant for. */
type Intent = "transaction" | "personal message";

/** The three bytes of each intent: scope, version and application. */
const INTENTS: Readonly<Record<Intent, Uint8Array>> = {
  "transaction": Uint8Array.of(0, 0, 0),
  "personal message": Uint8Array.of(3, 0, 0),
};

/** The signer, or why the signature is not valid. */
type SignatureCheck =
  | {
    readonly kind: "ok";
    /** The signer's address. */
    readonly address: string;
    /** The signer's public key, 32 bytes. */
    readonly publicKey: Uint8Array<ArrayBuffer>;
  }
  | {
    readonly kind: "invalid";
    /** Why the signature is not valid. */
    readonly reason: string;
  };

/**
 * Computes the address of a public key: the BLAKE2b-256 hash of a zero byte and
 * the key.
 */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  const flagged = Uint8Array.of(ED25519_FLAG, ...publicKey);
  return `0x${encodeHex(blake2b(flagged, { dkLen: DIGEST_BYTES }))}`;
}

/**
 * Returns the hash that is signed.
 *
 * @param bytes A transaction's bytes, or those of a message.
 */
function signedDigest(
  bytes: Uint8Array,
  intent: Intent,
): Uint8Array<ArrayBuffer> {
  const payload = intent === "personal message"
    ? new BcsWriter().byteVector(bytes).toBytes()
    : bytes;
  const hash = blake2b.create({ dkLen: DIGEST_BYTES });
  hash.update(INTENTS[intent]).update(payload);
  return Uint8Array.from(hash.digest());
}

/**
 * Signs with a seed of 32 bytes, which is not overwritten.
 *
 * @returns The signature in Base64, as the ledger takes it.
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function signWithSeed(
  seed: Uint8Array,
  bytes: Uint8Array,
  intent: Intent,
): Promise<string> {
  const keys = await importSeed(seed);
  try {
    return await signWith(keys, bytes, intent);
  } finally {
    keys.wipe();
  }
}

/** A key that signs hashes. */
interface DigestSigner {
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** Signs bytes and returns the signature of 64 bytes. */
  readonly sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
}

/**
 * Signs with a key that this file has no access to.
 *
 * @returns The signature in Base64, as the ledger takes it.
 */
export async function signWith(
  { publicKey, sign }: DigestSigner,
  bytes: Uint8Array,
  intent: Intent,
): Promise<string> {
  const signature = await sign(signedDigest(bytes, intent));
  return encodeBase64(Uint8Array.of(ED25519_FLAG, ...signature, ...publicKey));
}

/**
 * Verifies a signature in Base64 over `bytes`. Only Ed25519 signatures are
 * accepted, not those of other kinds (several keys, web logins, passkeys).
 */
export async function checkSignature(
  signature: string,
  bytes: Uint8Array,
  intent: Intent,
): Promise<SignatureCheck> {
  const parts = readSignature(signature);
  if (parts === undefined) {
    return { kind: "invalid", reason: "it is no Ed25519 signature" };
  }
  const { publicKey } = parts;
  const digest = signedDigest(bytes, intent);
  return await isSignedBy({ ...parts, bytes: digest })
    ? { kind: "ok", address: addressOfPublicKey(publicKey), publicKey }
    : { kind: "invalid", reason: "it is not over these bytes" };
}

function readSignature(text: string): {
  readonly signature: Uint8Array<ArrayBuffer>;
  readonly publicKey: Uint8Array<ArrayBuffer>;
} | undefined {
  const bytes = decodeBase64(text, {
    maxBytes: 1 + SIGNATURE_BYTES + PUBLIC_KEY_BYTES,
  });
  if (bytes?.length !== 1 + SIGNATURE_BYTES + PUBLIC_KEY_BYTES) {
    return undefined;
  }
  if (bytes[0] !== ED25519_FLAG) return undefined;
  return {
    signature: bytes.slice(1, 1 + SIGNATURE_BYTES),
    publicKey: bytes.slice(1 + SIGNATURE_BYTES),
  };
}
