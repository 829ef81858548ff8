/**
 * Signs requests with a delegate's key.
 *
 * @module
 */

import { importSeed, subtleCrypto } from "./ed25519.ts";
import { MemDestroyedError } from "./errors.ts";
import { encodeHex } from "./hex.ts";

/** What a signature covers. */
export interface SignedParts {
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
export interface SignatureHeaders {
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

/** The fields of {@linkcode canonicalText}. */
export interface CanonicalFields {
  /** The time, whole seconds since the Unix epoch, decimal. */
  readonly timestamp: string;
  /** The method, upper case. */
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** SHA-256 of the body, lower-case hexadecimal. */
  readonly bodyHash: string;
  /** The UUID. */
  readonly nonce: string;
  /** The account's object id. */
  readonly accountId: string;
}

interface SignerKeys {
  readonly publicKeyHex: string;
  readonly signingKey: CryptoKey;
}

/** Returns the text whose UTF-8 bytes are signed. */
export function canonicalText(fields: CanonicalFields): string {
  const { timestamp, method, path, bodyHash, nonce, accountId } = fields;
  return [timestamp, method, path, bodyHash, nonce, accountId].join(".");
}

/**
 * Signs requests with one key. The key is imported when it is first needed, and
 * the seed is overwritten as soon as it has been.
 */
export class RequestSigner {
  #seed: Uint8Array | undefined;
  #keys: Promise<SignerKeys> | undefined;
  #isWiped = false;

  private constructor(seed: Uint8Array) {
    this.#seed = seed;
  }

  /** Returns a signer for a seed of 32 bytes, which it takes and overwrites. */
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
    const text = canonicalText({
      timestamp,
      method: parts.method,
      path: parts.path,
      bodyHash: encodeHex(new Uint8Array(hash)),
      nonce,
      accountId: parts.accountId,
    });
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

  /** Overwrites the seed and drops the keys; harmless when done before. */
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
