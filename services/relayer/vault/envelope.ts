/**
 * Seals bytes into envelopes of version 1 and opens them. After the head
 * (envelope_head.ts) there are a random nonce of 12 bytes, a ciphertext as long
 * as the plaintext, and a tag of 16 bytes.
 *
 * All bytes before the nonce are authenticated, and so is the context, which is
 * not in the envelope. It has, for each of its texts, the length in UTF-8 (32
 * bits, big endian) and the UTF-8.
 *
 * @module
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import {
  encodeHead,
  type EnvelopeHead,
  type EnvelopeKind,
  NONCE_BYTES,
  TAG_BYTES,
} from "./envelope_head.ts";

/** Options of {@linkcode sealEnvelope}. */
interface SealEnvelopeOptions {
  /** The kind of data that is sealed. */
  readonly kind: EnvelopeKind;
  /** The key's id: 1 to 64 ASCII letters, digits, `.`, `_` and `-`. */
  readonly keyId: string;
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  /**
   * Texts that the envelope is bound to: it opens with the very same ones only.
   */
  readonly context: readonly string[];
}

/** Options of {@linkcode openEnvelope}. */
interface OpenEnvelopeOptions {
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  /** The texts that the envelope was bound to when it was sealed. */
  readonly context: readonly string[];
}

/** The length of each key, in bytes. */
export const KEY_BYTES = 32;

const CIPHER = "aes-256-gcm";

/**
 * Seals bytes under a random nonce: safe for 2^32 envelopes under one key.
 *
 * @throws {RangeError} when the key's id is malformed
 */
export function sealEnvelope(
  plaintext: Uint8Array,
  options: SealEnvelopeOptions,
): Uint8Array {
  const { envelope, headBytes } = unsealed(plaintext.length, options);
  const bodyAt = headBytes + NONCE_BYTES;
  const cipher = createCipheriv(
    CIPHER,
    options.key,
    envelope.subarray(headBytes, bodyAt),
    { authTagLength: TAG_BYTES },
  );
  cipher.setAAD(
    associatedData(envelope.subarray(0, headBytes), options.context),
  );
  // GCM returns as many bytes as it is given, and no more at the end.
  envelope.set(cipher.update(plaintext), bodyAt);
  cipher.final();
  envelope.set(cipher.getAuthTag(), bodyAt + plaintext.length);
  return envelope;
}

/**
 * Like {@linkcode sealEnvelope}, but off the caller's thread: a megabyte would
 * block that thread for as long as ten small requests take.
 *
 * @throws {RangeError} when the key's id is malformed
 */
export async function sealLongEnvelope(
  plaintext: Uint8Array<ArrayBuffer>,
  options: SealEnvelopeOptions,
): Promise<Uint8Array> {
  const { envelope, headBytes } = unsealed(plaintext.length, options);
  const key = await importedKey(options.key, "encrypt");
  const algorithm = buildGcmParams(envelope, {
    headBytes,
    context: options.context,
  });
  const sealed = await crypto.subtle.encrypt(algorithm, key, plaintext);
  envelope.set(new Uint8Array(sealed), headBytes + NONCE_BYTES);
  return envelope;
}

/**
 * Makes an envelope with its head and nonce, and room for ciphertext and tag.
 */
function unsealed(
  plaintextBytes: number,
  { kind, keyId }: SealEnvelopeOptions,
): {
  readonly envelope: Uint8Array<ArrayBuffer>;
  readonly headBytes: number;
} {
  const head = encodeHead({ kind, keyId });
  const headBytes = head.length;
  const envelope = new Uint8Array(
    headBytes + NONCE_BYTES + plaintextBytes + TAG_BYTES,
  );
  envelope.set(head);
  envelope.set(randomBytes(NONCE_BYTES), headBytes);
  return { envelope, headBytes };
}

/** The parameters by which WebCrypto seals or opens an envelope. */
function buildGcmParams(
  envelope: Uint8Array<ArrayBuffer>,
  { headBytes, context }: {
    readonly headBytes: number;
    readonly context: readonly string[];
  },
): AesGcmParams {
  return {
    name: "AES-GCM",
    iv: envelope.subarray(headBytes, headBytes + NONCE_BYTES),
    additionalData: associatedData(envelope.subarray(0, headBytes), context),
    tagLength: 8 * TAG_BYTES,
  };
}

/**
 * Imports a key for WebCrypto. The bytes are copied synchronously, so the
 * caller may overwrite them without awaiting the promise.
 */
export async function importedKey(
  key: Uint8Array,
  use: "encrypt" | "decrypt",
): Promise<CryptoKey> {
  const copy = new Uint8Array(key);
  const imported = crypto.subtle.importKey("raw", copy, "AES-GCM", false, [
    use,
  ]);
  copy.fill(0);
  return await imported;
}

/**
 * Opens an envelope whose head was read; undefined when the envelope was
 * changed, or was sealed with another key or context.
 */
export function openEnvelope(
  bytes: Uint8Array,
  head: EnvelopeHead,
  options: OpenEnvelopeOptions,
): Uint8Array | undefined {
  const { headBytes } = head;
  const bodyAt = headBytes + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv(
    CIPHER,
    options.key,
    bytes.subarray(headBytes, bodyAt),
    { authTagLength: TAG_BYTES },
  );
  decipher.setAAD(
    associatedData(bytes.subarray(0, headBytes), options.context),
  );
  decipher.setAuthTag(bytes.subarray(tagAt));
  const plaintext = decipher.update(bytes.subarray(bodyAt, tagAt));
  try {
    decipher.final();
  } catch {
    // The key, the nonce and the tag have the right lengths, so the last step
    // fails only if the tag does not match.
    return undefined;
  }
  return new Uint8Array(
    plaintext.buffer,
    plaintext.byteOffset,
    plaintext.byteLength,
  );
}

/**
 * Like {@linkcode openEnvelope}, but off the caller's thread: takes a third of
 * the time for long envelopes, and more time for short ones.
 *
 * @param options.key The key, imported for opening with AES-GCM.
 */
export async function openLongEnvelope(
  bytes: Uint8Array,
  { headBytes }: EnvelopeHead,
  { key, context }: {
    readonly key: Promise<CryptoKey>;
    readonly context: readonly string[];
  },
): Promise<Uint8Array | undefined> {
  // WebCrypto refuses bytes in shared memory, so these are copied.
  const own = bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  const algorithm = buildGcmParams(own, { headBytes, context });
  const body = own.subarray(headBytes + NONCE_BYTES);
  const imported = await key;
  try {
    return new Uint8Array(
      await crypto.subtle.decrypt(algorithm, imported, body),
    );
  } catch (error) {
    if (error instanceof DOMException && error.name === "OperationError") {
      return undefined;
    }
    throw error;
  }
}

function associatedData(
  head: Uint8Array,
  context: readonly string[],
): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const texts = context.map((text) => encoder.encode(text));
  const bytes = new Uint8Array(
    texts.reduce((sum, text) => sum + 4 + text.length, head.length),
  );
  bytes.set(head);
  const view = new DataView(bytes.buffer);
  let at = head.length;
  for (const text of texts) {
    view.setUint32(at, text.length);
    bytes.set(text, at + 4);
    at += 4 + text.length;
  }
  return bytes;
}
