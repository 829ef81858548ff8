/**
 * The heads of envelopes. A head names the algorithm and the id of the key that
 * opens the envelope.
 *
 * | bytes | what |
 * | --- | --- |
 * | 4 | the letters `TCTE` |
 * | 1 | version: 1, or 2 for a blob behind key servers (owner_key_blob.ts) |
 * | 1 | algorithm, 1: AES-256-GCM (NIST SP 800-38D) |
 * | 1 | kind: 1 blob, 2 index entry, 3 wrapped data key, 4 wrapped root key |
 * | 1 | length of the key's id, 1 to 64 |
 * | n | the key's id: ASCII letters, digits, `.`, `_` and `-` |
 * | 4 | check: the first bytes of the SHA-256 of all bytes before |
 *
 * The check is no protection; it tells a damaged envelope from one of a later
 * program or of a key that is gone.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The kind of data in an envelope. */
export type EnvelopeKind = "blob" | "index" | "data_key" | "root_key";

/**
 * The head of an envelope, which is not authentic until the envelope is opened.
 */
export interface EnvelopeHead {
  /** The kind of data in the envelope. */
  readonly kind: EnvelopeKind;
  /** The id of the key that opens it. */
  readonly keyId: string;
  /** How many bytes are before the nonce. */
  readonly headBytes: number;
}

/** The outcome of reading an envelope's head. */
type HeadOutcome =
  | { readonly kind: "ok"; readonly head: EnvelopeHead }
  /** The bytes are no envelope, or were changed. */
  | { readonly kind: "damaged" }
  /**
   * A whole envelope of a version, algorithm or kind that is not known here.
   */
  | { readonly kind: "unknown"; readonly version: number };

/** The version of an envelope that a key opens by itself. */
const VERSION = 1;
/** The version of a blob that has an owner's encrypted key after its head. */
export const OWNER_KEY_VERSION = 2;
/** The length of a nonce, in bytes. */
export const NONCE_BYTES = 12;
/** The length of a tag, in bytes. */
export const TAG_BYTES = 16;
const MAGIC = [0x54, 0x43, 0x54, 0x45];
const ALGORITHM = 1;
const KINDS: readonly EnvelopeKind[] = [
  "blob",
  "index",
  "data_key",
  "root_key",
];
const FIXED_BYTES = 8;
const CHECK_BYTES = 4;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Writes a head.
 *
 * @throws {RangeError} when the key's id is malformed
 */
export function encodeHead({ version = VERSION, kind, keyId }: {
  /** @default the version that a key opens by itself */
  readonly version?: number;
  /** The kind of data. */
  readonly kind: EnvelopeKind;
  /** The key's id. */
  readonly keyId: string;
}): Uint8Array<ArrayBuffer> {
  if (!KEY_ID.test(keyId)) {
    throw new RangeError("Cannot seal: the id of the key is not a key id");
  }
  const checkAt = FIXED_BYTES + keyId.length;
  const head = new Uint8Array(checkAt + CHECK_BYTES);
  head.set(MAGIC);
  head[4] = version;
  head[5] = ALGORITHM;
  head[6] = KINDS.indexOf(kind) + 1;
  head[7] = keyId.length;
  new TextEncoder().encodeInto(keyId, head.subarray(FIXED_BYTES));
  head.set(computeCheck(head.subarray(0, checkAt)), checkAt);
  return head;
}

/** A head whose check is right, of any version. */
interface CheckedHead {
  /** The version. */
  readonly version: number;
  /** The kind of data; undefined where kind or algorithm are not known here. */
  readonly kind: EnvelopeKind | undefined;
  /** The key's id; undefined where it is malformed. */
  readonly keyId: string | undefined;
  /** How many bytes the head has. */
  readonly headBytes: number;
}

/** Reads a head of any version; undefined for all other bytes. */
export function readHead(bytes: Uint8Array): CheckedHead | undefined {
  const checkAt = FIXED_BYTES + (bytes[7] ?? 0);
  const headBytes = checkAt + CHECK_BYTES;
  if (
    bytes.length < headBytes || MAGIC.some((byte, at) => bytes[at] !== byte)
  ) return undefined;
  const check = computeCheck(bytes.subarray(0, checkAt));
  if (check.some((byte, at) => bytes[checkAt + at] !== byte)) return undefined;
  const [version = 0, algorithm, code = 0] = bytes.subarray(4, 7);
  const kind = algorithm === ALGORITHM ? KINDS[code - 1] : undefined;
  const keyId = new TextDecoder().decode(bytes.subarray(FIXED_BYTES, checkAt));
  return {
    ...{ version, kind, headBytes },
    keyId: KEY_ID.test(keyId) ? keyId : undefined,
  };
}

/**
 * Reads an envelope's head, which is not authentic until the envelope is
 * opened.
 */
export function readEnvelope(bytes: Uint8Array): HeadOutcome {
  const head = readHead(bytes);
  if (head === undefined) return { kind: "damaged" };
  const { version, kind, keyId, headBytes } = head;
  if (version !== VERSION || kind === undefined) {
    return { kind: "unknown", version };
  }
  if (keyId === undefined || !isLongEnough(bytes, headBytes)) {
    return { kind: "damaged" };
  }
  return { kind: "ok", head: { kind, keyId, headBytes } };
}

/**
 * Reads heads faster where most are the same, as those of index entries are.
 */
export class EnvelopeReader {
  #bytes = new Uint8Array();
  #head: EnvelopeHead | undefined;

  /** As {@linkcode readEnvelope}. */
  read(bytes: Uint8Array): HeadOutcome {
    const known = this.#bytes;
    if (
      this.#head !== undefined && isLongEnough(bytes, known.length) &&
      known.every((byte, at) => bytes[at] === byte)
    ) return { kind: "ok", head: this.#head };
    const outcome = readEnvelope(bytes);
    if (outcome.kind === "ok") {
      this.#head = outcome.head;
      this.#bytes = bytes.slice(0, outcome.head.headBytes);
    }
    return outcome;
  }
}

function isLongEnough(bytes: Uint8Array, headBytes: number): boolean {
  return bytes.length >= headBytes + NONCE_BYTES + TAG_BYTES;
}

function computeCheck(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest().subarray(0, CHECK_BYTES);
}
