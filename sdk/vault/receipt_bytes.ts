/**
 * The bytes of a receipt that its signature (Ed25519, RFC 8032) is over: these
 * texts in this order, each as its length in UTF-8 (32 bits, big endian) and
 * its UTF-8: `tercet receipt 1`, kind, owner, namespace, memory id, blob id,
 * content hash, count, time in milliseconds since the Unix epoch, key id.
 * Numbers are in decimal digits; members that a receipt lacks are empty.
 *
 * @module
 */

/** What a receipt says, by the names of its JSON. */
export interface ReceiptFacts {
  /** The event: a memory stored or deleted, or a namespace's index emptied. */
  readonly kind: "remember" | "delete" | "forget";
  /** The owner's address. */
  readonly owner: string;
  /** The namespace; undefined where it is not known any longer. */
  readonly namespace?: string | undefined;
  /** By what the memory is asked for. */
  readonly memory_id?: string | undefined;
  /** The blob that has the memory, or had it. */
  readonly blob_id?: string | undefined;
  /** The hash of the memory's content, 64 hexadecimal digits. */
  readonly content_hash?: string | undefined;
  /** How many memories were forgotten. */
  readonly count?: number | undefined;
  /** When the event happened, in milliseconds since the Unix epoch. */
  readonly time_ms: number;
  /** The id of the key that signs. */
  readonly key_id: string;
}

const DOMAIN = "tercet receipt 1";

/** Returns the bytes that are signed. */
export function receiptBytes(facts: ReceiptFacts): Uint8Array<ArrayBuffer> {
  const { kind, owner, namespace = "", memory_id = "", blob_id = "" } = facts;
  const { content_hash = "", count = "", time_ms, key_id } = facts;
  const encoder = new TextEncoder();
  const texts = [
    ...[DOMAIN, kind, owner, namespace, memory_id, blob_id, content_hash],
    ...[String(count), String(time_ms), key_id],
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
