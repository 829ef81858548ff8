/**
 * Receipts, which the relayer signs when it has stored or deleted something, so
 * that the owner can prove it later. A receipt contains nothing by which a text
 * could be guessed: the hash of a text is salted, and the salt is sent beside
 * the receipt.
 *
 * The keys of receipts are kept with the other keys, sealed as they are; several
 * relayers have the same. The newest key signs; `/config` publishes the public
 * keys of all of them, so that old receipts can still be verified.
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
import {
  receiptBytes,
  type ReceiptFacts,
} from "../../../sdk/vault/receipt_bytes.ts";
import { type Clock, steadyMs } from "../../shared/clock.ts";
import { settle } from "../../shared/settled.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";

/** The statement that a receipt makes. */
interface ReceiptStatement {
  /** The event. */
  readonly kind: ReceiptFacts["kind"];
  /** The owner's address. */
  readonly owner: string;
  /** The namespace; undefined where it is not known any longer. */
  readonly namespace?: string | undefined;
  /** The memory's id. */
  readonly memoryId?: string | undefined;
  /** The id of the blob that has the memory, or had it. */
  readonly blobId?: string | undefined;
  /**
   * The hash of the memory's text by {@linkcode hashContent}, or of sealed
   * bytes by {@linkcode hashBytes}.
   */
  readonly contentHash?: string | undefined;
  /** How many memories were forgotten. */
  readonly count?: number | undefined;
  /**
   * When the memory was accepted or the deletion happened, in milliseconds
   * since the epoch.
   */
  readonly timeMs: number;
}

/** A receipt as clients get it. */
interface ReceiptView extends ReceiptFacts {
  /** The version of the format. */
  readonly version: 1;
  /** The signature, Base64. */
  readonly signature: string;
}

/**
 * Returns the hash of a text: HMAC-SHA256 (RFC 2104) of its UTF-8.
 *
 * @param salt The key of the HMAC, 64 hexadecimal digits.
 */
export function hashContent(text: string, salt: string): string {
  return createHmac("sha256", Uint8Array.fromHex(salt)).update(text, "utf8")
    .digest("hex");
}

/**
 * Returns the SHA-256 of bytes that a client has sealed; encrypted bytes need
 * no salt.
 */
export function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * Returns the text whose digest by the owner's keys is the salt of a memory's
 * hash.
 */
export function formatSaltText(memoryId: string): string {
  return `receipt salt\n${memoryId}`;
}

/** A key of receipts as it is stored. */
export interface KeptReceiptKey {
  /** The seed, 32 bytes. */
  readonly seed: Uint8Array;
  /** When the key was made, in milliseconds since the epoch. */
  readonly madeAtMs: number;
}

/** Stores keys of receipts. */
interface ReceiptKeyStore {
  /** For how many milliseconds keys that were read may be used. */
  readonly maxAgeMs: number;
  /** Returns all keys, the oldest first. */
  receiptKeys(): Promise<readonly KeptReceiptKey[]>;
  /**
   * Adds a key, with `isFirst` only where there is none; it is durable when this
   * resolves.
   */
  addReceiptKey(
    key: KeptReceiptKey,
    options: { readonly isFirst: boolean },
  ): Promise<void>;
}

/** The public part of a key, as clients see it. */
interface ToldReceiptKey {
  /** Its id: the first 16 hexadecimal digits of the SHA-256 of the public key. */
  readonly id: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /**
   * When the key was made, in milliseconds since the epoch; it signs from the
   * next start on.
   */
  readonly fromMs: number;
}

interface SigningKey {
  readonly told: ToldReceiptKey;
  readonly key: KeyObject;
}

const SEED_BYTES = 32;
const ID_DIGITS = 16;
/**
 * The bytes before a seed in PKCS #8, and the number of bytes before a public
 * key in SPKI (RFC 8410).
 */
const SEED_HEAD = Uint8Array.fromHex("302e020100300506032b657004220420");
const PUBLIC_HEAD_BYTES = 12;

/** The public parts of all keys, and when they were read. */
interface ToldKeys {
  readonly keys: readonly ToldReceiptKey[];
  readonly readMs: number;
}

/** Signs receipts. */
export class ReceiptSigner {
  readonly #store: ReceiptKeyStore;
  readonly #clock: Clock;
  readonly #current: SigningKey;
  #told: ToldKeys;
  /** A reading of the keys that is under way, for all who ask meanwhile. */
  #reading: Promise<void> | undefined;

  private constructor(
    store: ReceiptKeyStore,
    of: {
      readonly current: SigningKey;
      readonly told: ToldKeys;
      readonly clock: Clock;
    },
  ) {
    this.#store = store;
    this.#clock = of.clock;
    this.#current = of.current;
    this.#told = of.told;
  }

  /**
   * Makes a signer with the stored keys; makes the first key when there is
   * none.
   */
  static async open(
    store: ReceiptKeyStore,
    clock: Clock,
  ): Promise<ReceiptSigner> {
    if ((await store.receiptKeys()).length === 0) {
      await makeKey(store, { clock, isFirst: true });
    }
    const readMs = steadyMs(clock);
    const keys = (await store.receiptKeys()).map(importSigningKey);
    const current = keys.at(-1);
    if (current === undefined) {
      throw new Error("Cannot sign receipts: no key was kept");
    }
    const told = { keys: keys.map((key) => key.told), readMs };
    return new ReceiptSigner(store, { current, told, clock });
  }

  /**
   * The public parts of all keys, the oldest first. Another relayer may have
   * added some since they were last read.
   */
  async keys(): Promise<readonly ToldReceiptKey[]> {
    const ageMs = steadyMs(this.#clock) - this.#told.readMs;
    if (ageMs >= this.#store.maxAgeMs) {
      this.#reading ??= this.#read().finally(() => this.#reading = undefined);
      await this.#reading;
    }
    return this.#told.keys;
  }

  async #read(): Promise<void> {
    const readMs = steadyMs(this.#clock);
    const read = await settle(() => this.#store.receiptKeys());
    if (read.kind === "failed") {
      // Keys are only added, so those that are known stay true meanwhile.
      if (!(read.error instanceof StoreFailedError)) throw read.error;
      this.#told = { ...this.#told, readMs };
      return;
    }
    const keys = read.value.map((key) => importSigningKey(key).told);
    this.#told = { keys, readMs };
  }

  /**
   * Signs a statement; the same statement gives the same receipt as long as the
   * key is the same.
   */
  sign(statement: ReceiptStatement): ReceiptView {
    const { key, told: { id } } = this.#current;
    const { kind, owner, namespace, memoryId, blobId, contentHash } = statement;
    const { count, timeMs } = statement;
    const receipt: Omit<ReceiptView, "signature"> = {
      version: 1,
      ...{ kind, owner, namespace, memory_id: memoryId, blob_id: blobId },
      ...{ content_hash: contentHash, count, time_ms: timeMs, key_id: id },
    };
    const signature = sign(null, receiptBytes(receipt), key);
    return { ...receipt, signature: signature.toString("base64") };
  }
}

/**
 * Makes and stores a new key, which signs from the next start of the relayer
 * on.
 *
 * @returns The public part of the key.
 */
export async function addKey(
  store: ReceiptKeyStore,
  clock: Clock,
): Promise<ToldReceiptKey> {
  return await makeKey(store, { clock, isFirst: false });
}

async function makeKey(
  store: ReceiptKeyStore,
  { clock, isFirst }: { readonly clock: Clock; readonly isFirst: boolean },
): Promise<ToldReceiptKey> {
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  const kept = { seed, madeAtMs: Math.floor(clock.nowMs()) };
  const { told } = importSigningKey(kept);
  await store.addReceiptKey(kept, { isFirst });
  seed.fill(0);
  return told;
}

function importSigningKey({ seed, madeAtMs }: KeptReceiptKey): SigningKey {
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
