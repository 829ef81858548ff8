/**
 * Seals secrets with AES-256-GCM. The sealed text is bound to the place where
 * it is stored, so that it cannot be opened anywhere else.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { SealingKey } from "./master_keys.ts";

/**
 * Encodes a list of texts as bytes, so that no two lists have the same bytes:
 * each text as its length (32 bits, big endian) and its UTF-8.
 *
 * @throws {TypeError} When a text has half a surrogate pair, since all of those
 * have the same UTF-8.
 */
export function associatedData(parts: readonly string[]): Uint8Array {
  return Buffer.concat(parts.flatMap((part) => {
    if (!part.isWellFormed()) {
      throw new TypeError(
        "Cannot bind sealed text: a part of its place is not valid Unicode",
      );
    }
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  }));
}

/** Why sealed text cannot be opened. */
export type OpenFailure =
  | {
    /** The text was sealed with a key that is not known. */
    readonly kind: "wrong_key";
    /** The id of that key. */
    readonly keyId: string;
  }
  | {
    /**
     * The text was changed, belongs to another place, or is not sealed text.
     */
    readonly kind: "tampered";
  };

/** The outcome of opening sealed bytes. */
export type OpenOutcome =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  | OpenFailure;

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_KEY_ID_BYTES = 64;
const CIPHER = "aes-256-gcm";

/** The characters of key ids, so that an id in an error can always be shown. */
const KEY_ID = /^[A-Za-z0-9._-]+$/;

/**
 * Seals bytes for one place, with a random nonce. Random nonces of 96 bits are
 * safe for 2^32 texts under one key, far more than a tenant has versions of
 * secrets.
 *
 * @throws {RangeError} When the key's id is empty, longer than 64 or has other
 * characters than letters, digits, ".", "_" and "-".
 */
export function seal(
  plaintext: Uint8Array,
  key: SealingKey,
  associatedData: Uint8Array,
): string {
  const header = encodeHeader(key.id);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.secret, nonce, {
    authTagLength: TAG_BYTES,
  });
  cipher.setAAD(Buffer.concat([header, associatedData]));
  const ciphertext = [cipher.update(plaintext), cipher.final()];
  return Buffer.concat([header, nonce, ...ciphertext, cipher.getAuthTag()])
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

/**
 * Opens what {@linkcode seal} made.
 *
 * @param findKey Finds the key that the text names.
 * @param associatedData The place that the text was bound to by
 * {@linkcode seal}; any other place fails.
 */
export function open(
  sealed: string,
  findKey: (id: string) => SealingKey | undefined,
  associatedData: Uint8Array,
): OpenOutcome {
  const bytes = decode(sealed);
  const keyId = bytes === undefined ? undefined : readKeyId(bytes);
  if (bytes === undefined || keyId === undefined) return { kind: "tampered" };
  const key = findKey(keyId);
  if (key === undefined) return { kind: "wrong_key", keyId };
  const headerBytes = 2 + keyId.length;
  const body = bytes.subarray(headerBytes);
  const decipher = createDecipheriv(
    CIPHER,
    key.secret,
    body.subarray(0, NONCE_BYTES),
    { authTagLength: TAG_BYTES },
  );
  const header = bytes.subarray(0, headerBytes);
  decipher.setAAD(Buffer.concat([header, associatedData]));
  decipher.setAuthTag(body.subarray(body.length - TAG_BYTES));
  const plaintext = decipher.update(
    body.subarray(NONCE_BYTES, body.length - TAG_BYTES),
  );
  try {
    // GCM has returned all bytes by now; the last step compares the tag.
    decipher.final();
    return { kind: "ok", bytes: new Uint8Array(plaintext) };
  } catch {
    // With a key, a nonce and a tag of the right lengths, the last step has no
    // other way to fail than a tag that doesn't fit.
    return { kind: "tampered" };
  }
}

/**
 * The id of the key that a text was sealed with; `undefined` when it is not
 * sealed text.
 */
export function sealedKeyId(sealed: string): string | undefined {
  const bytes = decode(sealed);
  return bytes === undefined ? undefined : readKeyId(bytes);
}

function encodeHeader(keyId: string): Uint8Array {
  if (keyId.length > MAX_KEY_ID_BYTES || !KEY_ID.test(keyId)) {
    throw new RangeError("Cannot seal: the id of the key is not a key id");
  }
  const id = new TextEncoder().encode(keyId);
  return Buffer.concat([Uint8Array.of(FORMAT, id.length), id]);
}

/**
 * Decodes sealed text. Only the one spelling that {@linkcode seal} writes is
 * accepted, so that every changed bit is noticed.
 */
function decode(sealed: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(sealed)) return undefined;
  try {
    return Uint8Array.fromBase64(sealed + "=".repeat(-sealed.length & 3), {
      alphabet: "base64url",
      lastChunkHandling: "strict",
    });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Reads the key id; undefined when format or lengths are not those of sealed
 * text.
 */
function readKeyId(bytes: Uint8Array): string | undefined {
  const [format, length] = bytes;
  if (format !== FORMAT || length === undefined) return undefined;
  if (length > MAX_KEY_ID_BYTES) return undefined;
  if (bytes.length < 2 + length + NONCE_BYTES + TAG_BYTES) return undefined;
  const id = new TextDecoder().decode(bytes.subarray(2, 2 + length));
  return KEY_ID.test(id) ? id : undefined;
}

/** Where a secret is stored. */
export interface SecretRow {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker. */
  readonly workerId: string;
  /**
   * The secret's name. Those that clients give have capitals only, so the
   * service's own secrets have names in small letters.
   */
  readonly name: string;
  /** Its version, from 1. */
  readonly version: number;
}

/** Options of {@linkcode sealSecret} and {@linkcode openSecret}. */
interface SecretOptions {
  /** Where the secret is stored. */
  readonly row: SecretRow;
  /** The key of the tenant. */
  readonly key: SealingKey;
}

/** The outcome of opening a secret. */
export type SecretOutcome =
  | { readonly kind: "ok"; readonly value: string }
  | OpenFailure;

/**
 * Seals a secret for the row where it is stored.
 *
 * @throws {TypeError} When the value has half a surrogate pair, since another
 * value would be opened later.
 */
export function sealSecret(value: string, options: SecretOptions): string {
  if (!value.isWellFormed()) {
    throw new TypeError("Cannot seal the secret: it is not valid Unicode");
  }
  const { key, row } = options;
  return seal(new TextEncoder().encode(value), key, encodePlace(row));
}

/** Opens the secret of a row. */
export function openSecret(
  sealed: string,
  options: SecretOptions,
): SecretOutcome {
  const { key, row } = options;
  const findKey = (id: string): SealingKey | undefined =>
    id === key.id ? key : undefined;
  const outcome = open(sealed, findKey, encodePlace(row));
  if (outcome.kind !== "ok") return outcome;
  const value = new TextDecoder("utf-8", { ignoreBOM: true })
    .decode(outcome.bytes);
  return { kind: "ok", value };
}

function encodePlace(row: SecretRow): Uint8Array {
  return associatedData([
    "secret",
    row.tenantId,
    row.workerId,
    row.name,
    String(row.version),
  ]);
}
