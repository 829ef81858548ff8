/**
 * Derives the keys of memories whose owner's key is with key servers. An
 * owner's key is an X25519 key pair (RFC 7748). Its public half is enough to
 * seal, so that memories can be kept while the owner has no session. Only the
 * key servers give its private half back. A memory's key is derived from two
 * secrets. One is shared by the owner's pair and a pair made for this memory
 * alone. The other is the memory's own secret, which is on this machine.
 * Destroying the latter destroys the memory, although the owner's key can still
 * be had.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import { KEY_BYTES } from "./envelope.ts";

/** An owner's key pair. */
export interface OwnerKeyPair {
  /** The private half, 32 bytes. */
  readonly secret: Uint8Array;
  /** The public half, 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** What a memory's key is bound to. */
interface MemoryKeyContext {
  /** The owner's address. */
  readonly owner: string;
  /** The id of the memory's secret. */
  readonly keyId: string;
  /** The id of the owner's key. */
  readonly ownerKeyId: string;
  /** The memory's secret, 32 bytes. */
  readonly secret: Uint8Array;
}

/** A memory's key, and the public key that its owner derives it from. */
interface SealingKey {
  /** The key, 32 bytes; to be overwritten after use. */
  readonly key: Uint8Array;
  /** The public half of the memory's own pair, 32 bytes. */
  readonly ephemeral: Uint8Array;
}

/** The bytes before an X25519 private key in PKCS #8 (RFC 8410). */
const PRIVATE_HEAD = Uint8Array.fromHex("302e020100300506032b656e04220420");
/** The bytes before an X25519 public key in SPKI. */
const PUBLIC_HEAD = Uint8Array.fromHex("302a300506032b656e032100");

/** Makes an owner's key pair. */
export function newOwnerKeyPair(): OwnerKeyPair {
  return toOwnerKeyPair(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
}

/**
 * Returns the pair of a private half; the pair holds that array, not a copy.
 */
export function toOwnerKeyPair(secret: Uint8Array): OwnerKeyPair {
  return {
    secret,
    publicKey: toBytes(createPublicKey(importPrivateKey(secret))),
  };
}

/** Makes the key that seals a new memory. */
export function sealingKeyFor(
  ownerPublicKey: Uint8Array,
  context: MemoryKeyContext,
): SealingKey {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const shared = diffieHellman({
    privateKey,
    publicKey: importPublicKey(ownerPublicKey),
  });
  const ephemeral = toBytes(publicKey);
  const key = derived(shared, { ...context, ephemeral, ownerPublicKey });
  return { key, ephemeral };
}

/**
 * Derives the key that opens a sealed memory; undefined where the memory's
 * public key is invalid, so that it cannot have been used to seal.
 */
export function openingKeyFor(
  { secret, publicKey: ownerPublicKey }: OwnerKeyPair,
  context: MemoryKeyContext & Pick<SealingKey, "ephemeral">,
): Uint8Array | undefined {
  const privateKey = importPrivateKey(secret);
  let shared: Uint8Array;
  try {
    const publicKey = importPublicKey(context.ephemeral);
    shared = diffieHellman({ privateKey, publicKey });
  } catch {
    // A point of small order, whose shared secret everybody knows.
    return undefined;
  }
  if (shared.every((byte) => byte === 0)) return undefined;
  return derived(shared, { ...context, ownerPublicKey });
}

/** HKDF-SHA256 (RFC 5869); overwrites the shared secret. */
function derived(
  shared: Uint8Array,
  { owner, keyId, ownerKeyId, secret, ephemeral, ownerPublicKey }:
    & MemoryKeyContext
    & {
      readonly ephemeral: Uint8Array;
      readonly ownerPublicKey: Uint8Array;
    },
): Uint8Array {
  const info = ["memory key", owner, keyId, ownerKeyId, ephemeral.toHex()]
    .concat(ownerPublicKey.toHex()).join("\0");
  const key = hkdfSync("sha256", shared, secret, info, KEY_BYTES);
  shared.fill(0);
  return new Uint8Array(key);
}

function importPrivateKey(secret: Uint8Array): KeyObject {
  const der = Buffer.concat([PRIVATE_HEAD, secret]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

function importPublicKey(bytes: Uint8Array): KeyObject {
  const der = Buffer.concat([PUBLIC_HEAD, bytes]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

function toBytes(publicKey: KeyObject): Uint8Array {
  const der = publicKey.export({ format: "der", type: "spki" });
  return Uint8Array.from(der.subarray(PUBLIC_HEAD.length));
}
