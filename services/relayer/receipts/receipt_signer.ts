/**
 * Signs receipts with a key of this relayer. Keys are in the file of keys, sealed; the
 * newest signs, and the public halves of all are told, so that receipts of long ago can
 * still be checked.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
} from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import {
  receiptBytes,
  type ReceiptStatement,
  type ReceiptView,
} from "./receipt.ts";

/** A key as it is kept. */
export interface KeptReceiptKey {
  /** The seed, 32 bytes. */
  readonly seed: Uint8Array;
  /** When it was made, in milliseconds since the epoch. */
  readonly madeAtMs: number;
}

/** Keeps keys of receipts. */
export interface ReceiptKeyStore {
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
