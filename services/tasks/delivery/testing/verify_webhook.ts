/**
 * The receiver's side of signed push calls, as Standard Webhooks describes it.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
} from "node:crypto";

/** A key that checks signatures. */
export type VerifyingKey =
  | { readonly kind: "symmetric"; readonly key: Uint8Array }
  | { readonly kind: "asymmetric"; readonly publicKey: KeyObject };

/** What stands before a public key in DER (RFC 8410, section 4). */
const PUBLIC_KEY_HEAD = "302a300506032b6570032100";

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
}

/** The outcome of checking a signature. */
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

/** How far the timestamp may lie from the time, either way. */
const TOLERANCE_MS = 300_000;

/** The outcome of reading a key. */
export type VerifyingKeyOutcome =
  | { readonly kind: "ok"; readonly key: VerifyingKey }
  | { readonly kind: "invalid" };

/** Reads what a receiver checks with: a `whsec_` secret or a `whpk_` key. */
export function parseVerifyingKey(text: string): VerifyingKeyOutcome {
  const key = Buffer.from(text.slice(text.indexOf("_") + 1), "base64");
  if (text.startsWith("whsec_")) {
    return { kind: "ok", key: { kind: "symmetric", key } };
  }
  if (!text.startsWith("whpk_") || key.length !== 32) {
    return { kind: "invalid" };
  }
  const der = Buffer.concat([Buffer.from(PUBLIC_KEY_HEAD, "hex"), key]);
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  return { kind: "ok", key: { kind: "asymmetric", publicKey } };
}

/** Checks a signed call as its receiver should. */
export function verifyWebhook(
  webhook: ReceivedWebhook,
  options: VerifyWebhookOptions,
): WebhookVerdict {
  const id = webhook.headers["webhook-id"];
  const timestamp = webhook.headers["webhook-timestamp"];
  const list = webhook.headers["webhook-signature"];
  if (!id || !timestamp || !list) return rejected("missing_header");
  if (!/^\d{1,12}$/.test(timestamp)) return rejected("bad_timestamp");
  const ageMs = options.nowMs - Number(timestamp) * 1_000;
  if (ageMs > TOLERANCE_MS) return rejected("too_old");
  if (ageMs < -TOLERANCE_MS) return rejected("too_new");
  const content = Buffer.from(`${id}.${timestamp}.${webhook.body}`);
  const isSigned = list.split(" ").some((signature) =>
    options.keys.some((key) => isSignedBy({ content, signature }, key))
  );
  return isSigned ? { kind: "ok" } : rejected("no_match");
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
