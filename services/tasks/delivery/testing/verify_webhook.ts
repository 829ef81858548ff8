/**
 * Verifies signed push calls as a receiver should, by Standard Webhooks.
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

/** A key that verifies signatures. */
export type VerifyingKey =
  | { readonly kind: "symmetric"; readonly key: Uint8Array }
  | { readonly kind: "asymmetric"; readonly publicKey: KeyObject };

/** The DER bytes before a public key (RFC 8410, section 4). */
const PUBLIC_KEY_HEAD = "302a300506032b6570032100";

/** A received call, as far as its signature covers it. */
export interface ReceivedWebhook {
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body, exactly as it was received. */
  readonly body: string;
}

/** Options of {@linkcode verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** The keys, of which one has to match a signature. */
  readonly keys: readonly VerifyingKey[];
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The outcome of checking a signature. */
export type WebhookVerdict =
  | { readonly kind: "ok" }
  | {
    readonly kind: "rejected";
    /** The reason. */
    readonly code:
      | "missing_header"
      | "bad_timestamp"
      | "too_old"
      | "too_new"
      | "no_match";
  };

/** How many milliseconds the timestamp may be before or after the present. */
const TOLERANCE_MS = 300_000;

/** The outcome of parsing a key. */
export type VerifyingKeyOutcome =
  | { readonly kind: "ok"; readonly key: VerifyingKey }
  | { readonly kind: "invalid" };

/** Parses the key of a receiver: a `whsec_` secret or a `whpk_` public key. */
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

/** Verifies a signed call as its receiver should. */
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
