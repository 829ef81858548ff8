/**
 * Blobs behind key servers, which are envelopes of version 2. After the head
 * (envelope_head.ts) there are the length of the owner's encrypted key (16
 * bits, big endian) and that key as key servers' clients write it. Then come
 * the public half of the memory's own key pair (32 bytes, see memory_key.ts),
 * and a whole envelope of version 1 with the content. The content's context has
 * the digest of the encrypted key. So nothing but the owner's key and the
 * memory's secret is needed to open the blob.
 *
 * @module
 */

import { KEY_BYTES } from "./envelope.ts";
import {
  encodeHead,
  OWNER_KEY_VERSION,
  readEnvelope,
  readHead,
} from "./envelope_head.ts";

const LENGTH_BYTES = 2;
const MAX_OWNER_KEY_BYTES = 65_535;

/**
 * A blob of version 2, with the owner's key that its own key is derived from.
 */
interface OwnerKeyBlob {
  /** The owner's key, encrypted for the key servers. */
  readonly ownerKey: Uint8Array;
  /** The public half of the memory's own key pair, 32 bytes. */
  readonly ephemeral: Uint8Array;
  /** The envelope of the content, of version 1. */
  readonly body: Uint8Array;
}

/**
 * Writes a blob of version 2.
 *
 * @param keyId The id of the memory's key, the same as in the envelope `body`.
 * @throws {RangeError} when the encrypted key is too long
 */
export function writeOwnerKeyBlob(
  keyId: string,
  { ownerKey, ephemeral, body }: OwnerKeyBlob,
): Uint8Array<ArrayBuffer> {
  if (ownerKey.length > MAX_OWNER_KEY_BYTES) {
    throw new RangeError(
      `Cannot seal: the owner's encrypted key has ${ownerKey.length} bytes, ` +
        `${MAX_OWNER_KEY_BYTES} is the most`,
    );
  }
  const head = encodeHead({ version: OWNER_KEY_VERSION, kind: "blob", keyId });
  const ownerKeyAt = head.length + LENGTH_BYTES;
  const bodyAt = ownerKeyAt + ownerKey.length + KEY_BYTES;
  const bytes = new Uint8Array(bodyAt + body.length);
  bytes.set(head);
  new DataView(bytes.buffer).setUint16(head.length, ownerKey.length);
  bytes.set(ownerKey, ownerKeyAt);
  bytes.set(ephemeral, bodyAt - KEY_BYTES);
  bytes.set(body, bodyAt);
  return bytes;
}

/**
 * Reads a blob of version 2; its parts are views, not copies. Undefined for all
 * other bytes, such as a blob of version 1.
 */
export function readOwnerKeyBlob(bytes: Uint8Array): OwnerKeyBlob | undefined {
  if (bytes[4] !== OWNER_KEY_VERSION) return undefined;
  const head = readHead(bytes);
  if (head?.kind !== "blob") return undefined;
  const ownerKeyAt = head.headBytes + LENGTH_BYTES;
  if (bytes.length < ownerKeyAt) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const ephemeralAt = ownerKeyAt + view.getUint16(head.headBytes);
  const bodyAt = ephemeralAt + KEY_BYTES;
  if (bodyAt > bytes.length) return undefined;
  return {
    ownerKey: bytes.subarray(ownerKeyAt, ephemeralAt),
    ephemeral: bytes.subarray(ephemeralAt, bodyAt),
    body: bytes.subarray(bodyAt),
  };
}

/** The id of the key that a blob of either version names; undefined for other bytes. */
export function keyIdOfBlob(bytes: Uint8Array): string | undefined {
  const read = readEnvelope(readOwnerKeyBlob(bytes)?.body ?? bytes);
  return read.kind === "ok" && read.head.kind === "blob"
    ? read.head.keyId
    : undefined;
}
