/**
 * Signed requests: reads their header fields, makes the text that clients sign,
 * and verifies the Ed25519 signature (RFC 8032). The order in which the fields
 * are checked is part of the protocol: a client that is too old learns so,
 * whatever else is wrong.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { HttpHeaders } from "../../shared/http/exchange.ts";
import { isSmallOrderKey } from "../../shared/ledger/ed25519.ts";
import { normalizeLedgerId } from "../ledger/ledger_id.ts";
import { type Refusal, refusal } from "./refusal.ts";

/** A signature to verify. */
interface SignatureCheck {
  /** The public key, 64 lower-case hexadecimal digits. */
  readonly publicKey: string;
  /** The bytes that were signed. */
  readonly message: Uint8Array;
  /** The signature, 64 bytes. */
  readonly signature: Uint8Array;
}

/**
 * Verifies signatures, and caches imported keys. Of the two ways that the
 * runtime offers, this one takes half the time: the other one does the same
 * work on the same thread and adds a promise.
 */
export class SignatureVerifier {
  readonly #keys: BoundedMap<string, KeyObject | "none">;

  /** Makes a verifier that caches at most `maxKeys` keys. */
  constructor(maxKeys: number = 10_000) {
    this.#keys = new BoundedMap({ maxEntries: maxKeys });
  }

  /**
   * Returns whether a signature is valid for the key. An invalid key, and a key
   * of small order, for which almost anything verifies, has no valid
   * signatures.
   */
  verify(check: SignatureCheck): boolean {
    if (check.signature.byteLength !== 64) return false;
    const key = this.#getKey(check.publicKey);
    if (key === "none") return false;
    try {
      return verify(null, check.message, key, check.signature);
    } catch {
      // Thrown for bytes that are not a point of the curve, so not a key.
      this.#keys.set(check.publicKey, "none");
      return false;
    }
  }

  #getKey(publicKey: string): KeyObject | "none" {
    const known = this.#keys.get(publicKey);
    if (known !== undefined) return known;
    const key = importKey(publicKey);
    this.#keys.set(publicKey, key);
    return key;
  }
}

function importKey(publicKey: string): KeyObject | "none" {
  if (!/^[0-9a-f]{64}$/.test(publicKey)) return "none";
  const bytes = Buffer.from(publicKey, "hex");
  if (isSmallOrderKey(bytes)) return "none";
  const x = bytes.toString("base64url");
  try {
    return createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x },
      format: "jwk",
    });
  } catch {
    // The runtime reports an invalid key only by throwing.
    return "none";
  }
}

/** The parts of a request that are signed. */
interface SignedParts {
  /** Seconds since the epoch, as in the header. */
  readonly timestamp: string;
  /** The method, upper case. */
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /** SHA-256 of the body's bytes, 64 lower-case hexadecimal digits. */
  readonly bodyDigest: string;
  /** The nonce, as in the header; the oldest released SDK sends none. */
  readonly nonce: string | undefined;
  /** The account's id, as in the header; empty when there is none. */
  readonly accountId: string;
}

/**
 * Makes the text that a client signs: six fields, joined with full stops.
 * Without a nonce there are four fields, and nothing that tells a request from
 * its replay.
 *
 * No two requests have the same text, even though a path may contain full
 * stops: the part before the path contains no slash, and the part after it has
 * a fixed form that {@linkcode readSignedHead} checks.
 */
export function canonicalRequest(parts: SignedParts): string {
  const { timestamp, method, target, bodyDigest, nonce, accountId } = parts;
  const text = `${timestamp}.${method}.${target}.${bodyDigest}`;
  return nonce === undefined ? text : `${text}.${nonce}.${accountId}`;
}

/** The header fields of a signed request, read and checked. */
export interface SignedHead {
  /** The public key, 64 lower-case hexadecimal digits. */
  readonly publicKey: string;
  /** The signature, 64 bytes. */
  readonly signature: Uint8Array;
  /** When the request was signed, in seconds, as in the header. */
  readonly timestamp: string;
  /** When the request was signed, in milliseconds since the epoch. */
  readonly timestampMs: number;
  /** The nonce as in the header; absent from the oldest clients. */
  readonly nonce?: string | undefined;
  /** The account's id as in the header; empty when there is none. */
  readonly accountHeader: string;
  /** The account's id in its normal form; undefined when there is none. */
  readonly accountId?: string | undefined;
}

/** The outcome of reading a head. */
type SignedHeadOutcome =
  | { readonly kind: "ok"; readonly head: SignedHead }
  | Refusal;

/** Options of {@linkcode readSignedHead}. */
interface ReadSignedHeadOptions {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Milliseconds that the client's clock may be off, either way. */
  readonly windowMs: number;
  /** Whether requests without a nonce are accepted. */
  readonly isLegacyAllowed: boolean;
}

const FIELDS: readonly string[] = [
  "x-public-key",
  "x-signature",
  "x-timestamp",
  "x-nonce",
  "x-account-id",
];

/** A UUID (RFC 9562, 4). */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Whole seconds, with no more digits than dates need. */
const TIMESTAMP = /^[0-9]{1,11}$/;
const PUBLIC_KEY = /^[0-9a-f]{64}$/i;
const SIGNATURE = /^[0-9a-f]{128}$/i;

/** Reads and checks the header fields of a signed request. */
export function readSignedHead(
  headers: HttpHeaders,
  options: ReadSignedHeadOptions,
): SignedHeadOutcome {
  const publicKey = headers.get("x-public-key");
  const signature = headers.get("x-signature");
  const timestamp = headers.get("x-timestamp");
  if (!publicKey || !signature || !timestamp) {
    return refusal("ERR_MISSING_HEADERS");
  }
  if (FIELDS.some((name) => headers.all(name).length > 1)) {
    return refusal("ERR_REPEATED_HEADERS");
  }
  const nonce = headers.get("x-nonce");
  const accountHeader = headers.get("x-account-id") ?? "";
  if (nonce === undefined) {
    // These clients name their account without signing it. The account must
    // have their key; and as they send their private key along, those who could
    // change the field could sign anyway.
    if (!options.isLegacyAllowed) return refusal("ERR_CLIENT_TOO_OLD");
  } else if (!UUID.test(nonce)) {
    return refusal("ERR_NONCE_FORMAT");
  }
  if (!TIMESTAMP.test(timestamp)) return refusal("ERR_TIMESTAMP_FORMAT");
  const timestampMs = Number(timestamp) * 1_000;
  if (!isWithinWindow(timestampMs, options)) {
    return refusal("ERR_TIMESTAMP_OUT_OF_BOUNDS");
  }
  if (!PUBLIC_KEY.test(publicKey)) return refusal("ERR_PUBLIC_KEY_FORMAT");
  if (!SIGNATURE.test(signature)) return refusal("ERR_SIGNATURE_FORMAT");
  const accountId = normalizeLedgerId(accountHeader);
  if (accountHeader !== "" && accountId === undefined) {
    return refusal("ERR_ACCOUNT_FORMAT");
  }
  return {
    kind: "ok",
    head: {
      // A copy: a substring would keep the whole head in memory for as long as
      // the key is remembered.
      publicKey: Buffer.from(publicKey, "hex").toString("hex"),
      signature: Buffer.from(signature, "hex"),
      timestamp,
      timestampMs,
      accountHeader,
      nonce,
      accountId,
    },
  };
}

/** Returns whether a request was signed within the window around now. */
export function isWithinWindow(
  timestampMs: number,
  options: Pick<ReadSignedHeadOptions, "nowMs" | "windowMs">,
): boolean {
  return Math.abs(options.nowMs - timestampMs) <= options.windowMs;
}
