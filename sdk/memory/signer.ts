/**
 * Signs requests with a delegate's key: Ed25519 (RFC 8032).
 *
 * @module
 */

import {
  type Ed25519Keys,
  importSeed,
  randomUuid,
  sha256,
} from "./cryptography.ts";
import { encodeHex } from "./encodings.ts";
import { MemDestroyedError } from "./errors.ts";

/**
 * Signs for a delegate, whose private key the client never sees: a `CryptoKey`
 * that cannot be exported, a key in hardware, or another process has it.
 */
export interface DelegateSigner {
  /** The delegate's public key (Ed25519), 32 bytes. */
  readonly publicKey: Uint8Array;
  /** Signs bytes as they are and returns the signature of 64 bytes. */
  readonly sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
}

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

/**
 * Signs requests with one key. The key is imported when it is first needed, and
 * the seed is overwritten right after that.
 */
export class RequestSigner {
  #seed: Uint8Array | undefined;
  #keys:
    | Promise<DelegateSigner & Pick<Ed25519Keys, "wipe">>
    | undefined;
  #isWiped = false;

  private constructor(from: Uint8Array | DelegateSigner) {
    if ("sign" in from) {
      this.#keys = Promise.resolve({ ...from, wipe: () => {} });
    } else {
      this.#seed = from;
    }
  }

  /**
   * Creates a signer for a seed of 32 bytes, which it takes over and
   * overwrites.
   */
  static create(seed: Uint8Array): RequestSigner {
    return new RequestSigner(seed);
  }

  /** Creates a signer that lets another one sign. */
  static of(signer: DelegateSigner): RequestSigner {
    return new RequestSigner(signer);
  }

  /**
   * The public key, 64 hexadecimal digits.
   *
   * @throws {MemDestroyedError} After {@linkcode RequestSigner.wipe}.
   * @throws {MemError} In a page that was loaded over plain HTTP.
   */
  async publicKeyHex(): Promise<string> {
    return encodeHex((await this.#load()).publicKey);
  }

  /**
   * Signs one request: its time, method, path, body's hash, nonce and account.
   *
   * @throws {MemDestroyedError} After {@linkcode RequestSigner.wipe}.
   * @throws {MemError} In a page that was loaded over plain HTTP.
   */
  async sign(parts: SignedParts): Promise<SignatureHeaders> {
    const { publicKey, sign } = await this.#load();
    const timestamp = String(Math.floor(parts.nowMs / 1000));
    const nonce = randomUuid();
    const hash = await sha256(parts.body);
    const text = [
      timestamp,
      parts.method,
      parts.path,
      encodeHex(hash),
      nonce,
      parts.accountId,
    ].join(".");
    if (this.#isWiped) throw new MemDestroyedError();
    const signature = await sign(new TextEncoder().encode(text));
    return {
      "x-public-key": encodeHex(publicKey),
      "x-signature": encodeHex(signature),
      "x-timestamp": timestamp,
      "x-nonce": nonce,
      "x-account-id": parts.accountId,
    };
  }

  /**
   * Signs bytes as they are and returns the signature of 64 bytes.
   *
   * @throws {MemDestroyedError} After {@linkcode RequestSigner.wipe}.
   * @throws {MemError} In a page that was loaded over plain HTTP.
   */
  async signBytes(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    return await (await this.#load()).sign(bytes);
  }

  /** Overwrites the seed and drops the keys. A second call does nothing. */
  wipe(): void {
    this.#isWiped = true;
    this.#seed?.fill(0);
    this.#seed = undefined;
    // A failed import was reported by the call that made it.
    this.#keys?.then(({ wipe }) => wipe(), () => {});
    this.#keys = undefined;
  }

  async #load(): Promise<DelegateSigner> {
    if (this.#isWiped) throw new MemDestroyedError();
    const keys = await (this.#keys ??= this.#import());
    // The seed may have been overwritten while it was imported.
    if (this.#isWiped) throw new MemDestroyedError();
    return keys;
  }

  async #import(): Promise<Ed25519Keys> {
    const seed = this.#seed;
    if (seed === undefined) throw new MemDestroyedError();
    try {
      return await importSeed(seed);
    } finally {
      seed.fill(0);
      this.#seed = undefined;
    }
  }
}
