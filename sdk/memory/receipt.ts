/**
 * Receipts, which a relayer signs when it has stored or deleted a memory.
 *
 * @module
 */

import type { CallOptions } from "./life.ts";

import { isObject } from "./answer_reader.ts";

/** A receipt that a relayer has signed. */
export interface Receipt {
  /** The version of the receipt's form. */
  readonly version: 1;
  /**
   * The operation: `remember`: a memory was stored; `delete`: a memory was
   * deleted for good; `forget`: the memories of a namespace were removed from
   * the index.
   */
  readonly kind: "remember" | "delete" | "forget";
  /** Address of the owner. */
  readonly owner: string;
  /** The namespace that the memories are or were in. */
  readonly namespace?: string;
  /** The memory that was stored or deleted. */
  readonly memory_id?: string;
  /** The blob that holds or held the memory. */
  readonly blob_id?: string;
  /** A hash of the memory's content, 64 hexadecimal digits. */
  readonly content_hash?: string;
  /** How many memories were forgotten. */
  readonly count?: number;
  /**
   * When the memory was accepted or deleted, in milliseconds since the Unix
   * epoch by the relayer's clock.
   */
  readonly time_ms: number;
  /** The id of the relayer's key that signed. */
  readonly key_id: string;
  /** The signature, Base64. */
  readonly signature: string;
}

/** A key that a relayer signs receipts with. */
export interface ReceiptKey {
  /** Its id, as receipts name it. */
  readonly id: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
}

/** The values that a receipt is compared with. */
export interface VerifyReceiptOptions extends CallOptions {
  /**
   * The text that was remembered; needs `contentSalt`.
   *
   * @default the content is not compared
   */
  readonly text?: string;
  /**
   * The `content_salt` that came with the receipt. Keep the salt with the text
   * and not with the receipt: with both, a third party can check guesses of
   * a short text.
   *
   * @default none
   */
  readonly contentSalt?: string;
  /**
   * The bytes that were remembered with `rememberManual`.
   *
   * @default the content is not compared
   */
  readonly bytes?: Uint8Array;
  /**
   * The owner's address that the receipt must have.
   *
   * @default any owner
   */
  readonly owner?: string;
}

/** The outcome of verifying a receipt: genuine, or why not. */
export type ReceiptCheck =
  | {
    readonly kind: "ok";
    /**
     * Whether the key was named in the configuration (`receiptKeys`); otherwise
     * the relayer has named the key itself.
     */
    readonly isPinned: boolean;
  }
  | {
    readonly kind: "invalid";
    /**
     * `malformed`: the value does not have the form of a receipt;
     * `unknown_key`: no known key has its `key_id`; `bad_signature`: the key
     * has not signed this receipt; `other_owner` and `other_content`: the
     * receipt is genuine, but of another owner or content.
     */
    readonly reason:
      | "malformed"
      | "unknown_key"
      | "bad_signature"
      | "other_owner"
      | "other_content";
  };

/** A result that may come with a receipt. */
export interface Receipted {
  /** The receipt; absent with relayers that sign no receipts. */
  readonly receipt?: Receipt;
}

/** A result about a text that may come with a receipt. */
export interface ReceiptedText extends Receipted {
  /** The salt of the receipt's content hash, 64 hexadecimal digits. */
  readonly content_salt?: string;
}

const TEXTS = ["namespace", "memory_id", "blob_id", "content_hash"] as const;

/** Reads the receipt of an answer; undefined when there is no valid one. */
export function readReceipt(json: unknown): Receipt | undefined {
  const receipt = isObject(json) ? json["receipt"] : undefined;
  return isReceipt(receipt) ? receipt : undefined;
}

/** Reads the salt of an answer. */
export function readContentSalt(json: unknown): string | undefined {
  const salt = isObject(json) ? json["content_salt"] : undefined;
  return typeof salt === "string" ? salt : undefined;
}

/** Tells whether a value has the form of a receipt. */
export function isReceipt(value: unknown): value is Receipt {
  if (!isObject(value)) return false;
  const { kind, count } = value;
  const isText = (name: string) => typeof value[name] === "string";
  return value["version"] === 1 &&
    (kind === "remember" || kind === "delete" || kind === "forget") &&
    ["owner", "key_id", "signature"].every(isText) &&
    TEXTS.every((name) => value[name] === undefined || isText(name)) &&
    (count === undefined || typeof count === "number") &&
    typeof value["time_ms"] === "number";
}
