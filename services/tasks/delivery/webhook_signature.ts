/**
 * Signatures of calls as Standard Webhooks 1.0 has them, so that receivers
 * check them with a library they have.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHmac, sign, timingSafeEqual, verify } from "node:crypto";
import type { SigningSecret, VerifyingKey } from "./signing_secret.ts";

/** What is signed. */
export interface WebhookMessage {
  /**
   * Names the message, the same at each attempt: visible ASCII, and no text
   * that a stranger chose.
   */
  readonly id: string;
  /** When this attempt is made: milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** The body, exactly as it is sent. */
  readonly body: string;
}

/** The headers of a signed call. */
export interface WebhookHeaders {
  /** The message's id. */
  readonly "webhook-id": string;
  /** When it was signed: seconds since the Unix epoch. */
  readonly "webhook-timestamp": string;
  /** A signature of each key, with blanks between them. */
  readonly "webhook-signature": string;
}

/** What a receiver checks. */
export interface ReceivedWebhook {
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body, exactly as it was received. */
  readonly body: string;
}

/** Options of {@linkcode verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** One of these keys must have signed. */
  readonly keys: readonly VerifyingKey[];
  /** The time: milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /**
   * How far the timestamp may lie from the time, either way, in milliseconds.
   *
   * @default {300000}
   */
  readonly toleranceMs?: number;
}

/** What checking a signature comes to. */
export type WebhookVerdict =
  | { readonly kind: "ok" }
  | {
    readonly kind: "rejected";
    /** Why. */
    readonly code:
      | "missing_header"
      | "bad_timestamp"
      | "too_old"
      | "too_new"
      | "no_match";
  };

const DEFAULT_TOLERANCE_MS = 300_000;

/**
 * Signs a message: HMAC-SHA256 (`v1`) with shared secrets, ed25519 (`v1a`) with
 * key pairs. While a key is replaced, the old one signs too.
 *
 * @throws {RangeError} When there is no secret or the id can't be a header.
 */
export function signWebhook(
  message: WebhookMessage,
  secrets: readonly SigningSecret[],
): WebhookHeaders {
  if (secrets.length === 0) {
    throw new RangeError("Cannot sign webhook: there is no secret");
  }
  if (!/^[\x21-\x7e]{1,255}$/.test(message.id)) {
    throw new RangeError("Cannot sign webhook: its id is no visible ASCII");
  }
  const timestamp = String(Math.floor(message.atMs / 1_000));
  const content = Buffer.from(`${message.id}.${timestamp}.${message.body}`);
  const signatures = secrets.map((secret) => signatureOf(content, secret));
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/** Checks a signed call as its receiver should. */
export function verifyWebhook(
  webhook: ReceivedWebhook,
  options: VerifyWebhookOptions,
): WebhookVerdict {
  const { toleranceMs = DEFAULT_TOLERANCE_MS } = options;
  const id = webhook.headers["webhook-id"];
  const timestamp = webhook.headers["webhook-timestamp"];
  const list = webhook.headers["webhook-signature"];
  if (!id || !timestamp || !list) return rejected("missing_header");
  if (!/^\d{1,12}$/.test(timestamp)) return rejected("bad_timestamp");
  const ageMs = options.nowMs - Number(timestamp) * 1_000;
  if (ageMs > toleranceMs) return rejected("too_old");
  if (ageMs < -toleranceMs) return rejected("too_new");
  const content = Buffer.from(`${id}.${timestamp}.${webhook.body}`);
  const isSigned = list.split(" ").some((signature) =>
    options.keys.some((key) => isSignedBy({ content, signature }, key))
  );
  return isSigned ? { kind: "ok" } : rejected("no_match");
}

function signatureOf(content: Buffer, secret: SigningSecret): string {
  return secret.kind === "symmetric"
    ? `v1,${hmac(content, secret.key).toString("base64")}`
    : `v1a,${sign(null, content, secret.privateKey).toString("base64")}`;
}

interface SignedContent {
  readonly content: Buffer;
  readonly signature: string;
}

function isSignedBy(signed: SignedContent, key: VerifyingKey): boolean {
  const { content, signature } = signed;
  const comma = signature.indexOf(",");
  const version = signature.slice(0, comma);
  const bytes = Buffer.from(signature.slice(comma + 1), "base64");
  if (key.kind === "asymmetric") {
    return version === "v1a" && verify(null, content, key.publicKey, bytes);
  }
  const expected = hmac(content, key.key);
  return version === "v1" && bytes.length === expected.length &&
    timingSafeEqual(bytes, expected);
}

function hmac(content: Buffer, key: Uint8Array): Buffer {
  return createHmac("sha256", key).update(content).digest();
}

function rejected(
  code: Extract<WebhookVerdict, { readonly kind: "rejected" }>["code"],
): WebhookVerdict {
  return { kind: "rejected", code };
}
