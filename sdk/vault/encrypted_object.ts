/**
 * Reads and writes encrypted objects: data that is encrypted for an identity by
 * a threshold of key servers, in the canonical bytes of the public client
 * (version 0). An object names what is needed to decrypt it: the identity, the
 * share of each key server, and the number of shares that are needed.
 *
 * @module
 */

import { BcsError, BcsReader, BcsWriter } from "./bcs.ts";
import { G2_BYTES } from "./curve.ts";
import { MAX_ID_BYTES } from "./approval.ts";

/** Encrypted bytes, and who may decrypt them with whose help. */
export interface EncryptedObject {
  /** The package whose function decides who may decrypt. */
  readonly packageId: string;
  /** The identity, without the package's id before it. */
  readonly id: Uint8Array;
  /**
   * The key server of each share; one with more weight is listed more than
   * once.
   */
  readonly services: readonly ShareHolder[];
  /** How many shares are needed. */
  readonly threshold: number;
  /** The encryption's nonce, a point of 96 bytes. */
  readonly nonce: Uint8Array;
  /** The shares, 32 bytes each, in the order of `services`. */
  readonly encryptedShares: readonly Uint8Array[];
  /**
   * The randomness that the nonce was made from, encrypted under the secret, 32
   * bytes.
   */
  readonly encryptedRandomness: Uint8Array;
  /** The encrypted data. */
  readonly ciphertext: SealedData;
}

/** A key server and the number of its share. */
export interface ShareHolder {
  /** The key server's object. */
  readonly objectId: string;
  /** The share's number, 1 to 255. */
  readonly index: number;
}

/** Data that is encrypted under the secret that the shares give. */
export type SealedData =
  | {
    /** AES-256-GCM; the tag is at the end of `blob`. */
    readonly kind: "aes-256-gcm";
    /** The ciphertext. */
    readonly blob: Uint8Array;
    /** Data that is authenticated together with the ciphertext. */
    readonly aad: Uint8Array | undefined;
  }
  | {
    /** Counter mode by HMAC-SHA3-256. */
    readonly kind: "hmac-256-ctr";
    /** The ciphertext. */
    readonly blob: Uint8Array;
    /** Data that is authenticated together with the ciphertext. */
    readonly aad: Uint8Array | undefined;
    /** The code that authenticates the ciphertext and `aad`, 32 bytes. */
    readonly mac: Uint8Array;
  }
  /** No data: only the key that the object gives is used. */
  | { readonly kind: "plain" };

/** The outcome of reading an encrypted object. */
type EncryptedObjectOutcome =
  | { readonly kind: "ok"; readonly object: EncryptedObject }
  | { readonly kind: "invalid"; readonly reason: string };

const VERSION = 0;
const BONEH_FRANKLIN = 0;
const AES_256_GCM = 0;
const HMAC_256_CTR = 1;
const PLAIN = 2;
const SHARE_BYTES = 32;
const MAX_SERVICES = 254;

/** Returns the bytes that a reader of such objects takes. */
export function writeEncryptedObject(
  object: EncryptedObject,
): Uint8Array<ArrayBuffer> {
  const { ciphertext } = object;
  const writer = new BcsWriter().u8(VERSION).address(object.packageId)
    .byteVector(object.id)
    .vector(
      object.services,
      (each, { objectId, index }) => each.address(objectId).u8(index),
    )
    .u8(object.threshold)
    .length(BONEH_FRANKLIN).bytes(object.nonce)
    .vector(object.encryptedShares, (each, share) => each.bytes(share))
    .bytes(object.encryptedRandomness);
  const writeAad = (aad: Uint8Array | undefined) =>
    writer.option(aad, (each, bytes) => each.byteVector(bytes));
  switch (ciphertext.kind) {
    case "aes-256-gcm":
      writer.length(AES_256_GCM).byteVector(ciphertext.blob);
      return writeAad(ciphertext.aad).toBytes();
    case "hmac-256-ctr":
      writer.length(HMAC_256_CTR).byteVector(ciphertext.blob);
      return writeAad(ciphertext.aad).bytes(ciphertext.mac).toBytes();
    case "plain":
      return writer.length(PLAIN).toBytes();
  }
}

/**
 * Reads an encrypted object. It is checked to have the right form, a share for
 * each service, and a threshold that the shares can meet. Whether it can be
 * decrypted shows only when it is.
 */
export function readEncryptedObject(bytes: Uint8Array): EncryptedObjectOutcome {
  try {
    const reader = new BcsReader(bytes);
    const object = readObject(reader);
    reader.end();
    return { kind: "ok", object };
  } catch (error) {
    if (!(error instanceof BcsError)) throw error;
    return { kind: "invalid", reason: error.message };
  }
}

function readObject(reader: BcsReader): EncryptedObject {
  const version = reader.u8();
  if (version !== VERSION) throw new BcsError(`its version is ${version}`);
  const packageId = reader.address();
  const id = reader.byteVector({ maxBytes: MAX_ID_BYTES });
  const services = reader.vector(MAX_SERVICES, (each) => ({
    objectId: each.address(),
    index: each.u8(),
  }));
  const threshold = reader.u8();
  reader.length({ max: BONEH_FRANKLIN });
  const nonce = reader.bytes(G2_BYTES);
  const encryptedShares = reader.vector(
    MAX_SERVICES,
    (each) => each.bytes(SHARE_BYTES),
  );
  const encryptedRandomness = reader.bytes(SHARE_BYTES);
  const ciphertext = readCiphertext(reader);
  const indexes = new Set(services.map(({ index }) => index));
  if (indexes.size !== services.length || indexes.has(0)) {
    throw new BcsError("its shares are not numbered one by one");
  }
  if (encryptedShares.length !== services.length) {
    throw new BcsError("it has not one share for each service");
  }
  if (threshold < 1 || threshold > services.length) {
    throw new BcsError("its threshold cannot be met");
  }
  return {
    packageId,
    id,
    services,
    threshold,
    nonce,
    encryptedShares,
    encryptedRandomness,
    ciphertext,
  };
}

function readCiphertext(reader: BcsReader): SealedData {
  const form = reader.length({ max: PLAIN });
  if (form === PLAIN) return { kind: "plain" };
  const blob = reader.byteVector();
  const aad = reader.option((each) => each.byteVector());
  return form === AES_256_GCM
    ? { kind: "aes-256-gcm", blob, aad }
    : { kind: "hmac-256-ctr", blob, aad, mac: reader.bytes(SHARE_BYTES) };
}
