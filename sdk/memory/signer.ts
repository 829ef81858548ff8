/**
 * Signs requests with a delegate's key: Ed25519 (RFC 8032) as WebCrypto has it.
 *
 * @module
 */

import { encodeHex } from "./encodings.ts";
import { MemDestroyedError, MemError } from "./errors.ts";

/** The parts of a request that its signature covers. */
interface SignedParts {
  /** The method, upper case. */
  readonly method: string;
  /** Path and query, exactly as the relayer gets them. */
  readonly path: string;
  /** The body's bytes; none for a request without one. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The account's object id. */
  readonly accountId: string;
  /** The time, milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

/** The header fields that carry a signature. */
interface SignatureHeaders {
  /** The public key, 64 hexadecimal digits. */
  readonly "x-public-key": string;
  /** The signature, 128 hexadecimal digits. */
  readonly "x-signature": string;
  /** The time, whole seconds since the Unix epoch. */
  readonly "x-timestamp": string;
  /** A UUID that no other request has. */
  readonly "x-nonce": string;
  /** The account's object id. */
  readonly "x-account-id": string;
}

interface SignerKeys {
  readonly publicKeyHex: string;
  readonly signingKey: CryptoKey;
}

/**
 * Signs requests with one key. The key is imported when it is first needed, and
 * the seed is overwritten right after that.
 */
export class RequestSigner {
  #seed: Uint8Array | undefined;
  #keys: Promise<SignerKeys> | undefined;
  #isWiped = false;

  private constructor(seed: Uint8Array) {
    this.#seed = seed;
  }

  /**
   * Creates a signer for a seed of 32 bytes, which it takes over and
   * overwrites.
   */
  static create(seed: Uint8Array): RequestSigner {
    return new RequestSigner(seed);
  }

  /**
   * The public key, 64 hexadecimal digits.
   *
   * @throws {MemDestroyedError} After {@linkcode RequestSigner.wipe}.
   * @throws {MemError} When the runtime has no Ed25519.
   */
  async publicKeyHex(): Promise<string> {
    return (await this.#load()).publicKeyHex;
  }

  /**
   * Signs one request: its time, method, path, body's hash, nonce and account.
   *
   * @throws {MemDestroyedError} After {@linkcode RequestSigner.wipe}.
   * @throws {MemError} When the runtime has no Ed25519.
   */
  async sign(parts: SignedParts): Promise<SignatureHeaders> {
    const { publicKeyHex, signingKey } = await this.#load();
    const subtle = subtleCrypto();
    const timestamp = String(Math.floor(parts.nowMs / 1000));
    const nonce = globalThis.crypto.randomUUID();
    const hash = await subtle.digest("SHA-256", parts.body);
    const text = [
      timestamp,
      parts.method,
      parts.path,
      encodeHex(new Uint8Array(hash)),
      nonce,
      parts.accountId,
    ].join(".");
    if (this.#isWiped) throw new MemDestroyedError();
    const bytes = new TextEncoder().encode(text);
    const signature = await subtle.sign("Ed25519", signingKey, bytes);
    return {
      "x-public-key": publicKeyHex,
      "x-signature": encodeHex(new Uint8Array(signature)),
      "x-timestamp": timestamp,
      "x-nonce": nonce,
      "x-account-id": parts.accountId,
    };
  }

  /**
   * Signs bytes as they are and returns the signature of 64 bytes.
   *
   * @throws {MemDestroyedError} After {@linkcode RequestSigner.wipe}.
   * @throws {MemError} When the runtime has no Ed25519.
   */
  async signBytes(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const { signingKey } = await this.#load();
    const subtle = subtleCrypto();
    return new Uint8Array(await subtle.sign("Ed25519", signingKey, bytes));
  }

  /** Overwrites the seed and drops the keys. A second call does nothing. */
  wipe(): void {
    this.#isWiped = true;
    this.#seed?.fill(0);
    this.#seed = undefined;
    this.#keys = undefined;
  }

  async #load(): Promise<SignerKeys> {
    if (this.#isWiped) throw new MemDestroyedError();
    const keys = await (this.#keys ??= this.#import());
    // The seed may have been overwritten while it was imported.
    if (this.#isWiped) throw new MemDestroyedError();
    return keys;
  }

  async #import(): Promise<SignerKeys> {
    const seed = this.#seed;
    if (seed === undefined) throw new MemDestroyedError();
    try {
      const { publicKey, signingKey } = await importSeed(seed);
      return { publicKeyHex: encodeHex(publicKey), signingKey };
    } finally {
      seed.fill(0);
      this.#seed = undefined;
    }
  }
}

/** A pair of keys. */
interface Ed25519Keys {
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** Signs; its bytes cannot be exported. */
  readonly signingKey: CryptoKey;
}

/** The bytes before the seed in PKCS #8 (RFC 8410, section 7). */
const PKCS8_PREFIX: readonly number[] = [
  ...[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06],
  ...[0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20],
];

/**
 * Imports the key pair of a seed of 32 bytes.
 *
 * @throws {MemError} When the runtime's WebCrypto is missing or lacks Ed25519.
 */
export async function importSeed(seed: Uint8Array): Promise<Ed25519Keys> {
  const subtle = subtleCrypto();
  const pkcs8 = Uint8Array.from([...PKCS8_PREFIX, ...seed]);
  try {
    const publicKey = await publicKeyOf(pkcs8, subtle);
    const signingKey = await subtle.importKey(
      "pkcs8",
      pkcs8,
      "Ed25519",
      false,
      ["sign"],
    );
    return { publicKey, signingKey };
  } catch (cause) {
    throw new MemError(
      "Cannot use the private key: this runtime's WebCrypto has no Ed25519; " +
        "take Deno, Node 20 or newer, Bun, or a current browser",
      { cause },
    );
  } finally {
    pkcs8.fill(0);
  }
}

/**
 * The runtime's WebCrypto.
 *
 * @throws {MemError} When there is none.
 */
export function subtleCrypto(): SubtleCrypto {
  // The types say that it always exists, but a page that was loaded over plain
  // HTTP does not have it.
  const found: Crypto | undefined = globalThis.crypto;
  const subtle: SubtleCrypto | undefined = found?.subtle;
  if (subtle !== undefined) return subtle;
  throw new MemError(
    "Cannot sign: this runtime has no WebCrypto; a page must be served over " +
      "HTTPS or from localhost",
  );
}

/**
 * Computes a public key. WebCrypto gives it only by exporting the private key.
 * The exportable key and its text are used here alone.
 */
async function publicKeyOf(
  pkcs8: Uint8Array<ArrayBuffer>,
  subtle: SubtleCrypto,
): Promise<Uint8Array<ArrayBuffer>> {
  const readable = await subtle.importKey(
    "pkcs8",
    pkcs8,
    "Ed25519",
    true,
    ["sign"],
  );
  const { x } = await subtle.exportKey("jwk", readable);
  if (x === undefined) throw new TypeError("the key has no public part");
  const text = atob(x.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
