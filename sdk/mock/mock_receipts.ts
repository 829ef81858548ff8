/**
 * Receipts of the mock, signed with a key that is the same in every mock.
 *
 * @module
 */

import { ed25519 } from "@noble/curves/ed25519.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { decodeBase64, encodeBase64, encodeHex } from "../memory/encodings.ts";
import type { Receipt, ReceiptKey } from "../memory/receipt.ts";
import { receiptBytes } from "../memory/verify_receipt.ts";
import type { MockMemory } from "./mock_memory.ts";

const SEED = new Uint8Array(32).fill(0x7e);
const EMPTY = new Uint8Array();
const OWNER = `0x${"b2".repeat(32)}`;

/** The key, as `/config` tells it. */
export const MOCK_RECEIPT_KEY: ReceiptKey = {
  id: "mock",
  publicKey: encodeHex(ed25519.getPublicKey(SEED)),
};

/** What a receipt says, without who signs. */
type Statement = Pick<
  Receipt,
  | "kind"
  | "namespace"
  | "memory_id"
  | "blob_id"
  | "content_hash"
  | "count"
  | "time_ms"
>;

/** Signs a receipt. */
export function mockReceipt(statement: Statement): Receipt {
  const unsigned: Receipt = {
    version: 1,
    owner: OWNER,
    ...statement,
    key_id: MOCK_RECEIPT_KEY.id,
    signature: "",
  };
  const signature = ed25519.sign(receiptBytes(unsigned), SEED);
  return { ...unsigned, signature: encodeBase64(signature) };
}

/** The receipt of a memory, and for a text the salt of its hash. */
export function memoryReceipt(
  memory: MockMemory,
  { data }: { readonly data?: string | undefined } = {},
): { readonly receipt: Receipt; readonly content_salt?: string | undefined } {
  const { id, blobId, namespace, text, createdAtMs } = memory;
  const encoder = new TextEncoder();
  const salt = sha256(encoder.encode(`salt of ${id}`));
  const hash = text === undefined
    ? sha256(decodeBase64(data ?? "", { maxBytes: Infinity }) ?? EMPTY)
    : hmac(sha256, salt, encoder.encode(text));
  const receipt = mockReceipt({
    kind: "remember",
    namespace,
    memory_id: id,
    blob_id: blobId,
    content_hash: encodeHex(hash),
    time_ms: createdAtMs,
  });
  return {
    receipt,
    content_salt: text === undefined ? undefined : encodeHex(salt),
  };
}
