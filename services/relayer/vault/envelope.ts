/**
 * Seals bytes into envelopes and opens them. An envelope names its algorithm
 * and the id of the key that opens it.
 *
 * | bytes | what |
 * | --- | --- |
 * | 4 | the letters `TCTE` |
 * | 1 | version, 1 |
 * | 1 | algorithm, 1: AES-256-GCM (NIST SP 800-38D) |
 * | 1 | kind: 1 blob, 2 index entry, 3 wrapped data key, 4 wrapped root key |
 * | 1 | length of the key's id, 1 to 64 |
 * | n | the key's id: ASCII letters, digits, `.`, `_` and `-` |
 * | 4 | check: the first bytes of the SHA-256 of all bytes before |
 * | 12 | nonce, random |
 * | m | ciphertext, as long as the plaintext |
 * | 16 | tag |
 *
 * All bytes before the nonce are authenticated, and so is the context, which is
 * not in the envelope: for each of its texts the length in UTF-8 (32 bits, big
 * endian) and the UTF-8. The check is no protection; it tells a damaged
 * envelope from one of a later program or of a key that is gone.
 *
 * A blob of version 2 has the same bytes up to the check; then follow the
 * length of the owner's encrypted key (16 bits, big endian), that key as key
 * servers' clients write it, the public half of the memory's own key pair (32
 * bytes, see memory_key.ts), and a whole envelope of version 1 with the
 * content, whose context has the digest of the encrypted key. So nothing but
 * the owner's key and the memory's secret is needed to open the blob.
 *
 * @module
 */

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
} from "node:crypto";

/** The kind of data in an envelope. */
export type EnvelopeKind = "blob" | "index" | "data_key" | "root_key";

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

/**
 * The head of an envelope, which is not authentic until the envelope is opened.
 */
export interface EnvelopeHead {
  /** The kind of data in the envelope. */
  readonly kind: EnvelopeKind;
  /** The id of the key that opens it. */
  readonly keyId: string;
  /** How many bytes are before the nonce. */
  readonly headBytes: number;
}

/** The outcome of reading an envelope's head. */
type HeadOutcome =
  | { readonly kind: "ok"; readonly head: EnvelopeHead }
  /** The bytes are no envelope, or were changed. */
  | { readonly kind: "damaged" }
  /**
   * A whole envelope of a version, algorithm or kind that is not known here.
   */
  | { readonly kind: "unknown"; readonly version: number };

/** The length of each key, in bytes. */
export const KEY_BYTES = 32;

const MAGIC = [0x54, 0x43, 0x54, 0x45];
const VERSION = 1;
const ALGORITHM = 1;
const KINDS: readonly EnvelopeKind[] = [
  "blob",
  "index",
  "data_key",
  "root_key",
];
/** The version of a blob that has an owner's encrypted key after its head. */
export const OWNER_KEY_VERSION = 2;
const LENGTH_BYTES = 2;
const MAX_OWNER_KEY_BYTES = 65_535;
const FIXED_BYTES = 8;
const CHECK_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
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
  if (!KEY_ID.test(keyId)) {
    throw new RangeError("Cannot seal: the id of the key is not a key id");
  }
  const head = encodeHead({ version: VERSION, kind, keyId });
  const headBytes = head.length;
  const envelope = new Uint8Array(
    headBytes + NONCE_BYTES + plaintextBytes + TAG_BYTES,
  );
  envelope.set(head);
  envelope.set(randomBytes(NONCE_BYTES), headBytes);
  return { envelope, headBytes };
}

/** Writes the bytes of an envelope before the nonce. */
function encodeHead({ version, kind, keyId }: {
  readonly version: number;
  readonly kind: EnvelopeKind;
  readonly keyId: string;
}): Uint8Array<ArrayBuffer> {
  const checkAt = FIXED_BYTES + keyId.length;
  const head = new Uint8Array(checkAt + CHECK_BYTES);
  head.set(MAGIC);
  head[4] = version;
  head[5] = ALGORITHM;
  head[6] = KINDS.indexOf(kind) + 1;
  head[7] = keyId.length;
  new TextEncoder().encodeInto(keyId, head.subarray(FIXED_BYTES));
  head.set(computeCheck(head.subarray(0, checkAt)), checkAt);
  return head;
}

/**
 * A blob of version 2, with the owner's key that its own key is derived from.
 */
interface OwnerKeyBlob {
  /** The owner's key, encrypted for the key servers. */
  readonly ownerKey: Uint8Array;
  /** The public half of the memory's own key pair, 32 bytes. */
  readonly ephemeral: Uint8Array;
  /** The envelope of the content, of version 1. */
  readonly body: Uint8Array;
}

/**
 * Writes a blob of version 2.
 *
 * @param keyId The id of the memory's key, the same as in the envelope `body`.
 * @throws {RangeError} when the encrypted key is too long
 */
export function writeOwnerKeyBlob(
  keyId: string,
  { ownerKey, ephemeral, body }: OwnerKeyBlob,
): Uint8Array<ArrayBuffer> {
  if (ownerKey.length > MAX_OWNER_KEY_BYTES) {
    throw new RangeError(
      `Cannot seal: the owner's encrypted key has ${ownerKey.length} bytes, ` +
        `${MAX_OWNER_KEY_BYTES} is the most`,
    );
  }
  const head = encodeHead({ version: OWNER_KEY_VERSION, kind: "blob", keyId });
  const ownerKeyAt = head.length + LENGTH_BYTES;
  const bodyAt = ownerKeyAt + ownerKey.length + KEY_BYTES;
  const bytes = new Uint8Array(bodyAt + body.length);
  bytes.set(head);
  new DataView(bytes.buffer).setUint16(head.length, ownerKey.length);
  bytes.set(ownerKey, ownerKeyAt);
  bytes.set(ephemeral, bodyAt - KEY_BYTES);
  bytes.set(body, bodyAt);
  return bytes;
}

/**
 * Reads a blob of version 2; its parts are views, not copies. Undefined for all
 * other bytes, such as a blob of version 1.
 */
export function readOwnerKeyBlob(bytes: Uint8Array): OwnerKeyBlob | undefined {
  if (
    bytes[4] !== OWNER_KEY_VERSION ||
    MAGIC.some((byte, at) => bytes[at] !== byte)
  ) return undefined;
  const checkAt = FIXED_BYTES + (bytes[7] ?? 0);
  const lengthAt = checkAt + CHECK_BYTES;
  const ownerKeyAt = lengthAt + LENGTH_BYTES;
  const check = computeCheck(bytes.subarray(0, checkAt));
  if (
    bytes.length < ownerKeyAt || bytes[5] !== ALGORITHM ||
    bytes[6] !== KINDS.indexOf("blob") + 1 ||
    check.some((byte, at) => bytes[checkAt + at] !== byte)
  ) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const ephemeralAt = ownerKeyAt + view.getUint16(lengthAt);
  const bodyAt = ephemeralAt + KEY_BYTES;
  if (bodyAt > bytes.length) return undefined;
  return {
    ownerKey: bytes.subarray(ownerKeyAt, ephemeralAt),
    ephemeral: bytes.subarray(ephemeralAt, bodyAt),
    body: bytes.subarray(bodyAt),
  };
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

/** The id of the key that a blob of either version names; undefined for other bytes. */
export function keyIdOfBlob(bytes: Uint8Array): string | undefined {
  const read = readEnvelope(readOwnerKeyBlob(bytes)?.body ?? bytes);
  return read.kind === "ok" && read.head.kind === "blob"
    ? read.head.keyId
    : undefined;
}

/**
 * Reads an envelope's head, which is not authentic until the envelope is
 * opened.
 */
export function readEnvelope(bytes: Uint8Array): HeadOutcome {
  const keyIdBytes = bytes[7] ?? 0;
  const headBytes = FIXED_BYTES + keyIdBytes + CHECK_BYTES;
  if (
    bytes.length < headBytes || MAGIC.some((byte, at) => bytes[at] !== byte)
  ) {
    return { kind: "damaged" };
  }
  const checkAt = headBytes - CHECK_BYTES;
  const check = computeCheck(bytes.subarray(0, checkAt));
  if (check.some((byte, at) => bytes[checkAt + at] !== byte)) {
    return { kind: "damaged" };
  }
  const [version, algorithm, code] = bytes.subarray(4, 7);
  const kind = KINDS[(code ?? 0) - 1];
  if (version !== VERSION || algorithm !== ALGORITHM || kind === undefined) {
    return { kind: "unknown", version: version ?? 0 };
  }
  const keyId = new TextDecoder().decode(bytes.subarray(FIXED_BYTES, checkAt));
  if (!KEY_ID.test(keyId) || !isLongEnough(bytes, headBytes)) {
    return { kind: "damaged" };
  }
  return { kind: "ok", head: { kind, keyId, headBytes } };
}

/**
 * Reads heads faster where most are the same, as those of index entries are.
 */
export class EnvelopeReader {
  #bytes = new Uint8Array();
  #head: EnvelopeHead | undefined;

  /** As {@linkcode readEnvelope}. */
  read(bytes: Uint8Array): HeadOutcome {
    const known = this.#bytes;
    if (
      this.#head !== undefined && isLongEnough(bytes, known.length) &&
      known.every((byte, at) => bytes[at] === byte)
    ) return { kind: "ok", head: this.#head };
    const outcome = readEnvelope(bytes);
    if (outcome.kind === "ok") {
      this.#head = outcome.head;
      this.#bytes = bytes.slice(0, outcome.head.headBytes);
    }
    return outcome;
  }
}

function isLongEnough(bytes: Uint8Array, headBytes: number): boolean {
  return bytes.length >= headBytes + NONCE_BYTES + TAG_BYTES;
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
    // With a key, a nonce and a tag of the right lengths, the last step can
    // fail for one reason only: the tag does not match.
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
  bytes: Uint8Array<ArrayBuffer>,
  head: EnvelopeHead,
  options: { readonly key: CryptoKey; readonly context: readonly string[] },
): Promise<Uint8Array | undefined> {
  const { headBytes } = head;
  const algorithm = buildGcmParams(bytes, {
    headBytes,
    context: options.context,
  });
  try {
    const body = bytes.subarray(headBytes + NONCE_BYTES);
    return new Uint8Array(
      await crypto.subtle.decrypt(algorithm, options.key, body),
    );
  } catch (error) {
    if (error instanceof DOMException && error.name === "OperationError") {
      return undefined;
    }
    throw error;
  }
}

function computeCheck(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest().subarray(0, CHECK_BYTES);
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
