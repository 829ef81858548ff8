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
 * The key is one of this relayer. Keys are in the file of keys, sealed; the newest
 * signs, and the public halves of all are told, so that receipts of long ago can still
 * be checked.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
} from "node:crypto";
import type { Clock } from "../../shared/clock.ts";

/** What was done. */
type ReceiptKind =
  /** A memory was stored. */
  | "remember"
  /** A memory was deleted for good. */
  | "delete"
  /** The memories of a namespace were taken from the index. */
  | "forget";

/** What a receipt says. */
interface ReceiptStatement {
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
interface ReceiptView {
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

/** A key as it is kept. */
export interface KeptReceiptKey {
  /** The seed, 32 bytes. */
  readonly seed: Uint8Array;
  /** When it was made, in milliseconds since the epoch. */
  readonly madeAtMs: number;
}

/** Keeps keys of receipts. */
interface ReceiptKeyStore {
  /** All keys, the oldest first. */
  receiptKeys(): readonly KeptReceiptKey[];
  /** Adds a key; durable when it answers. */
  addReceiptKey(key: KeptReceiptKey): Promise<void>;
}

/** A key as clients are told of it. */
interface ToldReceiptKey {
  /** Its id: the first 16 hexadecimal digits of the SHA-256 of the public key. */
  readonly id: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** Since when it signs, in milliseconds since the epoch. */
  readonly fromMs: number;
}

interface SigningKey {
  readonly told: ToldReceiptKey;
  readonly key: KeyObject;
}

const SEED_BYTES = 32;
const ID_DIGITS = 16;
/** What stands before a seed in PKCS #8, and before a public key in SPKI (RFC 8410). */
const SEED_HEAD = Uint8Array.fromHex("302e020100300506032b657004220420");
const PUBLIC_HEAD_BYTES = 12;

/** Signs receipts. */
export class ReceiptSigner {
  readonly #keys: readonly SigningKey[];
  readonly #current: SigningKey;

  private constructor(keys: readonly SigningKey[], current: SigningKey) {
    this.#keys = keys;
    this.#current = current;
  }

  /** A signer with the keys that are kept; makes the first one. */
  static async open(
    store: ReceiptKeyStore,
    clock: Clock,
  ): Promise<ReceiptSigner> {
    if (store.receiptKeys().length === 0) await addKey(store, clock);
    const keys = store.receiptKeys().map(signingKeyOf);
    const current = keys.at(-1);
    if (current === undefined) {
      throw new Error("Cannot sign receipts: no key was kept");
    }
    return new ReceiptSigner(keys, current);
  }

  /** All keys, the oldest first. */
  get keys(): readonly ToldReceiptKey[] {
    return this.#keys.map(({ told }) => told);
  }

  /** Signs; the same statement gives the same receipt as long as the key is. */
  sign(statement: ReceiptStatement): ReceiptView {
    const { key, told: { id } } = this.#current;
    const signature = sign(null, receiptBytes(statement, id), key);
    const { kind, owner, namespace, memoryId, blobId, contentHash } = statement;
    const { count, timeMs } = statement;
    return {
      version: 1,
      kind,
      owner,
      namespace,
      memory_id: memoryId,
      blob_id: blobId,
      content_hash: contentHash,
      count,
      time_ms: timeMs,
      key_id: id,
      signature: signature.toString("base64"),
    };
  }
}

/**
 * Adds a key, which signs from the next start of the relayer on.
 *
 * @returns How clients are told of it.
 */
export async function addKey(
  store: ReceiptKeyStore,
  clock: Clock,
): Promise<ToldReceiptKey> {
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  const kept = { seed, madeAtMs: Math.floor(clock.nowMs()) };
  const { told } = signingKeyOf(kept);
  await store.addReceiptKey(kept);
  seed.fill(0);
  return told;
}

function signingKeyOf({ seed, madeAtMs }: KeptReceiptKey): SigningKey {
  const der = Buffer.concat([SEED_HEAD, seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  der.fill(0);
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const publicKey = spki.subarray(PUBLIC_HEAD_BYTES);
  const id = createHash("sha256").update(publicKey).digest("hex")
    .slice(0, ID_DIGITS);
  const told = { id, publicKey: publicKey.toString("hex"), fromMs: madeAtMs };
  return { told, key };
}
