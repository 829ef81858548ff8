/**
 * Seals contents into blobs and opens them, long ones off the caller's thread.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import {
  importedKey,
  openEnvelope,
  openLongEnvelope,
  sealEnvelope,
  sealLongEnvelope,
} from "./envelope.ts";
import type { EnvelopeHead } from "./envelope_head.ts";
import { decodeContent } from "./sealed_content.ts";
import type { OpenedBlob, OpenOptions } from "./vault.ts";

/** The key and context of {@linkcode sealBlob}. */
interface BlobSealing {
  /** The key's id. */
  readonly keyId: string;
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  /** Texts that the blob is bound to. */
  readonly context: readonly string[];
}

/**
 * The length from which a blob opens faster in another thread, though its key
 * has to be imported for a single use.
 */
const LONG_BLOB_BYTES = 32_768;

/** Seals an encoded content into an envelope. */
export async function sealBlob(
  content: Uint8Array<ArrayBuffer>,
  sealing: BlobSealing,
): Promise<Uint8Array> {
  return content.length < LONG_BLOB_BYTES
    ? sealEnvelope(content, { ...sealing, kind: "blob" })
    : await sealLongEnvelope(content, { ...sealing, kind: "blob" });
}

/**
 * Opens an envelope whose head was read; the key is used synchronously only.
 */
export async function openBlob(
  bytes: Uint8Array,
  { head, key, context, pausing = NEVER_PAUSING }:
    & Pick<BlobSealing, "key" | "context">
    & OpenOptions
    & { readonly head: EnvelopeHead },
): Promise<OpenedBlob> {
  const isLong = bytes.length >= LONG_BLOB_BYTES;
  const plaintext = isLong
    ? await openLongEnvelope(bytes, head, {
      key: importedKey(key, "decrypt"),
      context,
    })
    : openEnvelope(bytes, head, { key, context });
  if (isLong) await pausing.pause();
  const value = plaintext && decodeContent(plaintext);
  return value === undefined
    ? { kind: "failed", why: "damaged" }
    : { kind: "ok", value, keyId: head.keyId };
}
