/**
 * Key pairs for accounts that scripts and tests make.
 *
 * @module
 */

/** A key pair as hexadecimal digits. */
export interface DelegateKeyPair {
  /** The private key's seed, 64 hexadecimal digits. */
  readonly key: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
}

/** Bytes of a seed; they are the last ones of the key as PKCS#8 (RFC 8410, 7). */
const SEED_BYTES = 32;

/** Makes a new Ed25519 key pair. */
export async function generateDelegateKey(): Promise<DelegateKeyPair> {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, [
    "sign",
    "verify",
  ]);
  if (!("privateKey" in pair)) throw new TypeError("Ed25519 has key pairs");
  const [pkcs8, raw] = await Promise.all([
    crypto.subtle.exportKey("pkcs8", pair.privateKey),
    crypto.subtle.exportKey("raw", pair.publicKey),
  ]);
  return {
    key: new Uint8Array(pkcs8).slice(-SEED_BYTES).toHex(),
    publicKey: new Uint8Array(raw).toHex(),
  };
}
