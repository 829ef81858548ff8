/**
 * Verifies receipts; loaded at the first call.
 *
 * @module
 */

import { isObject } from "./answer_reader.ts";
import type { ClientParts } from "./client_parts.ts";
import { decodeBase64, decodeHex, encodeHex } from "./encodings.ts";
import {
  isReceipt,
  type Receipt,
  type ReceiptCheck,
  type ReceiptKey,
  type VerifyReceiptOptions,
} from "./receipt.ts";
import { hmacSha256, isSignedBy, sha256 } from "./cryptography.ts";
import { askUnsigned } from "./service.ts";
import { receiptBytes } from "../vault/receipt_bytes.ts";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Does what {@linkcode Mem.verifyReceipt} says. */
export async function verifyReceipt(
  parts: Pick<ClientParts, "exchange" | "receiptKeys" | "preflightTimeoutMs">,
  receipt: Receipt,
  options: VerifyReceiptOptions = {},
): Promise<ReceiptCheck> {
  const { text, contentSalt, bytes } = options;
  // A receipt is about a text or about bytes, so one of them would not count.
  if (text !== undefined && (contentSalt === undefined || bytes)) {
    throw new TypeError(
      "Cannot verify the receipt: a text needs the contentSalt that came with " +
        "it, and no bytes",
    );
  }
  const form: unknown = receipt;
  if (!isReceipt(form)) return { kind: "invalid", reason: "malformed" };
  const { receiptKeys: pinned } = parts;
  const keys = pinned ?? await toldKeys(parts);
  const key = keys.find(({ id }) => id === receipt.key_id);
  if (key === undefined) return { kind: "invalid", reason: "unknown_key" };
  if (!await isSigned(receipt, key)) {
    return { kind: "invalid", reason: "bad_signature" };
  }
  if (options.owner !== undefined && options.owner !== receipt.owner) {
    return { kind: "invalid", reason: "other_owner" };
  }
  const hash = await hashContent(options);
  return hash !== undefined && hash !== receipt.content_hash
    ? { kind: "invalid", reason: "other_content" }
    : { kind: "ok", isPinned: pinned !== undefined };
}

/** Returns the keys that the relayer names in its configuration. */
async function toldKeys(
  parts: Pick<ClientParts, "exchange" | "preflightTimeoutMs">,
): Promise<readonly ReceiptKey[]> {
  const json = await askUnsigned(parts, "/config");
  const told = isObject(json) ? json["receiptKeys"] : undefined;
  if (!Array.isArray(told)) return [];
  return told.filter(isObject).flatMap(({ id, publicKey }) =>
    typeof id === "string" && typeof publicKey === "string"
      ? [{ id, publicKey }]
      : []
  );
}

async function isSigned(receipt: Receipt, key: ReceiptKey): Promise<boolean> {
  const publicKey = decodeHex(key.publicKey);
  const signature = decodeBase64(receipt.signature, {
    maxBytes: SIGNATURE_BYTES,
  });
  if (
    publicKey?.length !== KEY_BYTES || signature?.length !== SIGNATURE_BYTES
  ) return false;
  return await isSignedBy({
    ...{ publicKey, signature },
    bytes: receiptBytes(receipt),
  });
}

/**
 * Returns the content hash that the receipt must have; undefined when no
 * content is compared.
 */
async function hashContent(
  { text, contentSalt = "", bytes }: VerifyReceiptOptions,
): Promise<string | undefined> {
  if (bytes !== undefined) {
    return encodeHex(await sha256(Uint8Array.from(bytes)));
  }
  if (text === undefined) return undefined;
  const salt = decodeHex(contentSalt);
  // An empty text equals no receipt's hash.
  if (salt === undefined || salt.length === 0) return "";
  return encodeHex(await hmacSha256(salt, new TextEncoder().encode(text)));
}
