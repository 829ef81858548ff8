/**
 * Reads the private key of a delegate in its usual forms, and computes its
 * public key and its address on the ledger. No error shows any part of the key.
 *
 * @module
 */

import { addressOfPublicKey } from "../vault/signatures.ts";
import { decodeBech32, decodeHex } from "./encodings.ts";
import { importSeed } from "./cryptography.ts";

const SEED_LENGTH = 32;
const ENCODED_PREFIX = "suiprivkey";
const ED25519_FLAG = 0x00;

/**
 * Reads a private key and returns its seed, a copy of 32 bytes (RFC 8032). The
 * key may be hexadecimal, with or without `0x`; `suiprivkey…`, that is Bech32
 * of a flag byte, 0 for Ed25519, and the seed; or the seed's bytes. Spaces
 * around a text are ignored.
 *
 * @throws {TypeError} When the key has another form.
 */
export function parsePrivateKey(
  key: string | Uint8Array,
): Uint8Array<ArrayBuffer> {
  if (typeof key === "string") return seedOfText(key.trim());
  if (!isBytes(key)) {
    throw fault("it is neither a text nor a Uint8Array");
  }
  if (key.length !== SEED_LENGTH) {
    throw fault(`it has ${key.length} bytes instead of ${SEED_LENGTH}`);
  }
  return Uint8Array.from(key);
}

/**
 * Returns the public key of a private key, 32 bytes. The private key is
 * hexadecimal, `suiprivkey…` or bytes.
 *
 * @throws {TypeError} When the private key has another form.
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
 * @throws {TypeError} When the private key has another form.
 * @throws {MemError} When the runtime has no Ed25519.
 */
export async function delegateKeyToSuiAddress(
  privateKey: string | Uint8Array,
): Promise<string> {
  return addressOfPublicKey(await delegateKeyToPublicKey(privateKey));
}

function seedOfText(text: string): Uint8Array<ArrayBuffer> {
  if (text === "") throw fault("it is empty");
  if (text.toLowerCase().startsWith(ENCODED_PREFIX)) return seedOfBech32(text);
  const seed = decodeHex(text.replace(/^0x/i, ""));
  if (seed === undefined) {
    throw fault(
      `it is neither hexadecimal nor an encoded "${ENCODED_PREFIX}…"`,
    );
  }
  if (seed.length !== SEED_LENGTH) {
    const digits = 2 * seed.length;
    seed.fill(0);
    throw fault(
      `it has ${digits} hexadecimal digits instead of ${2 * SEED_LENGTH}`,
    );
  }
  return seed;
}

function seedOfBech32(text: string): Uint8Array<ArrayBuffer> {
  const content = decodeBech32(text);
  if (content === undefined || content.prefix !== ENCODED_PREFIX) {
    throw fault(
      `it begins with "${ENCODED_PREFIX}" and has a slip: the checksum differs`,
    );
  }
  const { bytes } = content;
  try {
    if (bytes[0] !== ED25519_FLAG) {
      throw fault("it is no Ed25519 key, the only kind that can sign here");
    }
    if (bytes.length !== 1 + SEED_LENGTH) {
      throw fault(`it holds ${bytes.length - 1} bytes instead of 32`);
    }
    return bytes.slice(1);
  } finally {
    bytes.fill(0);
  }
}

/**
 * Tells whether a value is a byte array. Unlike `instanceof`, this also works
 * for arrays of another realm.
 */
function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === "[object Uint8Array]" &&
    ArrayBuffer.isView(value);
}

function fault(state: string): TypeError {
  return new TypeError(`Cannot read the private key: ${state}`);
}
