/**
 * What follows from a delegate's private key: its public key and its address on
 * the ledger.
 *
 * @module
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { importSeed } from "./ed25519.ts";
import { encodeHex } from "./hex.ts";
import { parsePrivateKey } from "./private_key.ts";

const ED25519_FLAG = 0x00;
const ADDRESS_LENGTH = 32;

/**
 * Returns the public key of a private key, 32 bytes. The private key is
 * hexadecimal, `suiprivkey…` or bytes.
 *
 * @throws {TypeError} When the private key is none of these.
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function delegateKeyToPublicKey(
  privateKey: string | Uint8Array,
): Promise<Uint8Array> {
  const seed = parsePrivateKey(privateKey);
  try {
    return (await importSeed(seed)).publicKey;
  } finally {
    seed.fill(0);
  }
}

/**
 * Returns the address of a private key on the ledger: `0x` and the BLAKE2b-256
 * hash of a zero byte, which stands for Ed25519, and the public key. The private
 * key is hexadecimal, `suiprivkey…` or bytes.
 *
 * @throws {TypeError} When the private key is none of these.
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function delegateKeyToSuiAddress(
  privateKey: string | Uint8Array,
): Promise<string> {
  const publicKey = await delegateKeyToPublicKey(privateKey);
  const flagged = Uint8Array.from([ED25519_FLAG, ...publicKey]);
  return `0x${encodeHex(blake2b(flagged, { dkLen: ADDRESS_LENGTH }))}`;
}
