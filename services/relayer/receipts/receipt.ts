/**
 * Receipts: what the relayer signs when it has stored or deleted something, so that its
 * owner can show it later. They hold nothing of a text that could be guessed: the hash
 * of a text takes a salt, which is told beside the receipt.
 *
 * What is signed (Ed25519, RFC 8032) are these texts in this order, each as its length
 * in UTF-8 (32 bits, big endian) and its UTF-8: `tercet receipt 1`, kind, owner,
 * namespace, memory id, blob id, content hash, count, time in milliseconds since the
 * Unix epoch, key id. Numbers are in decimal digits; what a receipt has not is empty.
 *
 * @module
 */

import { createHash, createHmac } from "node:crypto";

/** What was done. */
type ReceiptKind =
  /** A memory was stored. */
  | "remember"
  /** A memory was deleted for good. */
  | "delete"
  /** The memories of a namespace were taken from the index. */
  | "forget";

/** What a receipt says. */
export interface ReceiptStatement {
  /** What was done. */
  readonly kind: ReceiptKind;
  /** Whose it is. */
  readonly owner: string;
  /** The namespace; undefined where it is not known any longer. */
  readonly namespace?: string | undefined;
  /** The memory. */
  readonly memoryId?: string | undefined;
  /** The blob that holds it, or held it. */
  readonly blobId?: string | undefined;
  /** {@linkcode contentHashOf} its text, or {@linkcode bytesHashOf} its bytes. */
  readonly contentHash?: string | undefined;
  /** How many memories were forgotten. */
  readonly count?: number | undefined;
  /**
   * When, in milliseconds since the epoch: when a memory was taken in, or something
   * was deleted.
   */
  readonly timeMs: number;
}

/** A receipt as clients get it. */
export interface ReceiptView {
  /** The form, 1. */
  readonly version: 1;
  /** What was done. */
  readonly kind: ReceiptKind;
  /** Whose it is. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string | undefined;
  /** The memory. */
  readonly memory_id: string | undefined;
  /** Its blob. */
  readonly blob_id: string | undefined;
  /** The hash of its content, 64 hexadecimal digits. */
  readonly content_hash: string | undefined;
  /** How many memories were forgotten. */
  readonly count: number | undefined;
  /** When, in milliseconds since the epoch. */
  readonly time_ms: number;
  /** The key that signed. */
  readonly key_id: string;
  /** The signature, Base64. */
  readonly signature: string;
}

const DOMAIN = "tercet receipt 1";

/** The bytes that are signed. */
export function receiptBytes(
  statement: ReceiptStatement,
  keyId: string,
): Uint8Array {
  const { kind, owner, namespace = "", memoryId = "" } = statement;
  const { blobId = "", contentHash = "", count = "", timeMs } = statement;
  const encoder = new TextEncoder();
  const texts = [
    ...[DOMAIN, kind, owner, namespace, memoryId, blobId, contentHash],
    ...[String(count), String(timeMs), keyId],
  ].map((text) => encoder.encode(text));
  const bytes = new Uint8Array(
    texts.reduce((sum, { length }) => sum + 4 + length, 0),
  );
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.length);
    bytes.set(text, at + 4);
    at += 4 + text.length;
  }
  return bytes;
}

/**
 * The hash of a text: HMAC-SHA256 (RFC 2104) of its UTF-8.
 *
 * @param salt The key, 64 hexadecimal digits.
 */
export function contentHashOf(text: string, salt: string): string {
  return createHmac("sha256", Uint8Array.fromHex(salt)).update(text, "utf8")
    .digest("hex");
}

/** The hash of bytes that a client has sealed, which needs no salt: SHA-256. */
export function bytesHashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Where the salt of a memory's text follows from, as a text that has a digest. */
export function saltTextOf(memoryId: string): string {
  return `receipt salt\n${memoryId}`;
}
