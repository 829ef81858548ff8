/**
 * Keys of memories behind key servers. An owner's key is a key pair of X25519 (RFC
 * 7748): its public half is enough to seal, so that memories can be kept while no
 * session of the owner is at hand; only key servers give its private half back. A
 * memory's key follows from a shared secret of the owner's pair and a pair that is made
 * for this memory alone, and from the memory's own secret, which is on this machine: to
 * destroy that is to destroy the memory, though the owner's key can be had for ever.
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

/** A memory's key, and what its owner finds it by. */
interface SealingKey {
  /** The key, 32 bytes; to be overwritten after use. */
  readonly key: Uint8Array;
  /** The public half of the memory's own pair, 32 bytes. */
  readonly ephemeral: Uint8Array;
}

/** What stands before a private key in PKCS #8 (RFC 8410). */
const PRIVATE_HEAD = Uint8Array.fromHex("302e020100300506032b656e04220420");
/** What stands before a public key in SPKI. */
const PUBLIC_HEAD = Uint8Array.fromHex("302a300506032b656e032100");

/** Makes an owner's key pair. */
export function newOwnerKeyPair(): OwnerKeyPair {
  return ownerKeyPairOf(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
}

/** The pair of a private half, which is taken over and not copied. */
export function ownerKeyPairOf(secret: Uint8Array): OwnerKeyPair {
  return { secret, publicKey: bytesOf(createPublicKey(privateKeyOf(secret))) };
}

/** A new memory's key. */
export function sealingKeyFor(
  ownerPublicKey: Uint8Array,
  context: MemoryKeyContext,
): SealingKey {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const shared = diffieHellman({
    privateKey,
    publicKey: publicKeyOf(ownerPublicKey),
  });
  const ephemeral = bytesOf(publicKey);
  const key = derived(shared, { ...context, ephemeral, ownerPublicKey });
  return { key, ephemeral };
}

/**
 * The key of a memory that was sealed before; undefined where its public half is one
 * that nothing is sealed with.
 */
export function openingKeyFor(
  { secret, publicKey: ownerPublicKey }: OwnerKeyPair,
  context: MemoryKeyContext & Pick<SealingKey, "ephemeral">,
): Uint8Array | undefined {
  const privateKey = privateKeyOf(secret);
  let shared: Uint8Array;
  try {
    const publicKey = publicKeyOf(context.ephemeral);
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

function privateKeyOf(secret: Uint8Array): KeyObject {
  const der = Buffer.concat([PRIVATE_HEAD, secret]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

function publicKeyOf(bytes: Uint8Array): KeyObject {
  const der = Buffer.concat([PUBLIC_HEAD, bytes]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

function bytesOf(publicKey: KeyObject): Uint8Array {
  const der = publicKey.export({ format: "der", type: "spki" });
  return Uint8Array.from(der.subarray(PUBLIC_HEAD.length));
}
