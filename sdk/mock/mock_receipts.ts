/**
 * Receipts of the mock, signed with a key that is the same in every mock.
 *
 * @module
 */

import { decodeBase64, encodeBase64, encodeHex } from "../memory/encodings.ts";
import type { Receipt, ReceiptKey } from "../memory/receipt.ts";
import { hmacSha256, importSeed, sha256 } from "../memory/cryptography.ts";
import { receiptBytes } from "../vault/receipt_bytes.ts";
import type { MockMemory } from "./mock_memory.ts";

const SEED_BYTE = 0x7e;
const OWNER = `0x${"b2".repeat(32)}`;

/** The public key as `/config` reports it. */
export const MOCK_RECEIPT_KEY: ReceiptKey = {
  id: "mock",
  publicKey: "51bfae7fa92c515512cd3ad442760e41612e59dfec3913f670b721c04255b068",
};

/** A receipt's content without the signing key. */
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
export async function mockReceipt(statement: Statement): Promise<Receipt> {
  const unsigned: Receipt = {
    version: 1,
    owner: OWNER,
    ...statement,
    key_id: MOCK_RECEIPT_KEY.id,
    signature: "",
  };
  const { sign } = await importSeed(new Uint8Array(32).fill(SEED_BYTE));
  const signature = await sign(receiptBytes(unsigned));
  return { ...unsigned, signature: encodeBase64(signature) };
}

/**
 * Returns the receipt of a memory and, for a text, the salt of its content
 * hash.
 */
export async function memoryReceipt(
  memory: MockMemory,
  { data = "" }: { readonly data?: string | undefined } = {},
): Promise<
  { readonly receipt: Receipt; readonly content_salt?: string | undefined }
> {
  const { id, blobId, namespace, text, createdAtMs } = memory;
  const salt = await sha256(new TextEncoder().encode(`salt of ${id}`));
  const hash = text === undefined
    ? await sha256(decodeBase64(data, { maxBytes: Infinity }) ?? salt)
    : await hmacSha256(salt, new TextEncoder().encode(text));
  const receipt = await mockReceipt({
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
