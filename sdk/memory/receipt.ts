/**
 * Receipts: what a relayer signs when it has stored or deleted something.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";

/** What a relayer has signed. */
export interface Receipt {
  /** The form, 1. */
  readonly version: 1;
  /**
   * `remember`: a memory was stored; `delete`: a memory was deleted for good;
   * `forget`: the memories of a namespace were taken from the index.
   */
  readonly kind: "remember" | "delete" | "forget";
  /** Address of the owner. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace?: string;
  /** The memory. */
  readonly memory_id?: string;
  /** The blob that holds it, or held it. */
  readonly blob_id?: string;
  /** A hash of its content, 64 hexadecimal digits. */
  readonly content_hash?: string;
  /** How many memories were forgotten. */
  readonly count?: number;
  /**
   * When the memory was taken in, or it was deleted: milliseconds since the Unix
   * epoch, by the relayer's clock.
   */
  readonly time_ms: number;
  /** The relayer's key that has signed. */
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

/** What a receipt is compared with. */
export interface VerifyReceiptOptions {
  /**
   * The text that was remembered; needs `contentSalt`.
   *
   * @default the content is not compared
   */
  readonly text?: string;
  /**
   * The `content_salt` that came with the receipt. Keep it with the text and not with
   * the receipt: with both, short texts could be guessed.
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
   * The address whose receipt it has to be.
   *
   * @default anyone's
   */
  readonly owner?: string;
}

/** Whether a receipt is genuine, and else why not. */
export type ReceiptCheck =
  | {
    readonly kind: "ok";
    /**
     * Whether the key was named in the configuration (`receiptKeys`); else the relayer
     * has named it itself.
     */
    readonly isPinned: boolean;
  }
  | {
    readonly kind: "invalid";
    /**
     * `malformed`: it is no receipt of a known form; `unknown_key`: no key has its
     * `key_id`; `bad_signature`: the key has not signed this; `other_owner` and
     * `other_content`: it is genuine, and of another owner or content.
     */
    readonly reason:
      | "malformed"
      | "unknown_key"
      | "bad_signature"
      | "other_owner"
      | "other_content";
  };

/** A receipt and what belongs to it, as answers carry them. */
export interface Receipted {
  /** What the relayer has signed; absent with relayers that sign nothing. */
  readonly receipt?: Receipt;
}

/** The same of a text. */
export interface ReceiptedText extends Receipted {
  /** The salt of the receipt's hash, 64 hexadecimal digits. */
  readonly content_salt?: string;
}

const TEXTS = ["namespace", "memory_id", "blob_id", "content_hash"] as const;

/** The receipt in an answer; undefined where there is none that can be read. */
export function readReceipt(json: unknown): Receipt | undefined {
  const receipt = isObject(json) ? json["receipt"] : undefined;
  return isReceipt(receipt) ? receipt : undefined;
}

/** The salt in an answer. */
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
