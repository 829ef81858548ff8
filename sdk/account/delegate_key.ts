/**
 * Key pairs for delegates.
 *
 * @module
 */

import { encodeHex } from "../memory/encodings.ts";
import { delegateKeyToPublicKey } from "../memory/private_key.ts";
import { addressOfPublicKey } from "../vault/signatures.ts";

/** A new key pair of Ed25519. */
export interface DelegateKey {
  /** The private key, 64 hexadecimal digits. Keep it secret. */
  readonly privateKey: string;
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The address of the public key on the ledger. */
  readonly suiAddress: string;
}

/**
 * Makes a key pair that may speak for an account once its owner has added the public
 * key with `addDelegateKey`. It is told to nothing but the caller.
 *
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function generateDelegateKey(): Promise<DelegateKey> {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  try {
    const publicKey = await delegateKeyToPublicKey(seed);
    return {
      privateKey: encodeHex(seed),
      publicKey,
      suiAddress: addressOfPublicKey(publicKey),
    };
  } finally {
    seed.fill(0);
  }
}
