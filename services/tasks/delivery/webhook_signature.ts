/**
 * Signatures of push calls (Standard Webhooks) and the keys that make them:
 * `whsec_` is a shared secret, `whsk_` and `whpk_` are the halves of an ed25519
 * key pair.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

/** A parsed key that signs calls. */
type SigningSecret =
  | {
    readonly kind: "symmetric";
    /** The shared secret, 24 to 64 bytes. */
    readonly key: Uint8Array;
  }
  | {
    readonly kind: "asymmetric";
    /** The private ed25519 key. */
    readonly privateKey: KeyObject;
    /** The public key as `whpk_` text, for receivers. */
    readonly publicKeyText: string;
  };

/** Returns that many random bytes, of a quality fit for keys. */
type RandomBytes = (length: number) => Uint8Array;

const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const NEW_SECRET_BYTES = 32;
const ED25519_BYTES = 32;

/** The DER bytes before a private key (RFC 8410, section 7). */
const PRIVATE_KEY_HEAD = "302e020100300506032b657004220420";

const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Creates a shared secret of 32 bytes as `whsec_` text. */
export function newSigningSecret(random: RandomBytes = randomBytes): string {
  return `whsec_${encode(random(NEW_SECRET_BYTES))}`;
}

/**
 * Creates an ed25519 key as `whsk_` text: the private and after it the public
 * half, the form that other senders of Standard Webhooks use.
 */
export function newSigningKey(random: RandomBytes = randomBytes): string {
  const seed = random(ED25519_BYTES);
  return `whsk_${encode(Buffer.concat([seed, publicHalf(privateKey(seed))]))}`;
}

/**
 * Parses a `whsec_` secret or a `whsk_` key. The public half of the latter may
 * be left out.
 *
 * @returns the key; `undefined` for any other text
 */
export function parseSigningSecret(text: string): SigningSecret | undefined {
  const bytes = decode(text);
  if (bytes === undefined) return undefined;
  const { length } = bytes;
  if (text.startsWith("whsec_")) {
    return length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES
      ? { kind: "symmetric", key: bytes }
      : undefined;
  }
  if (!text.startsWith("whsk_") || length < ED25519_BYTES) return undefined;
  const key = privateKey(bytes.subarray(0, ED25519_BYTES));
  const half = publicHalf(key);
  const isPair = length === ED25519_BYTES ||
    half.equals(bytes.subarray(ED25519_BYTES));
  if (!isPair) return undefined;
  const publicKeyText = `whpk_${encode(half)}`;
  return { kind: "asymmetric", privateKey: key, publicKeyText };
}

function privateKey(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([Buffer.from(PRIVATE_KEY_HEAD, "hex"), seed]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

function publicHalf(key: KeyObject): Buffer {
  const der = createPublicKey(key).export({ format: "der", type: "spki" });
  return der.subarray(-ED25519_BYTES);
}

/** The bytes after the prefix; `undefined` when they are not valid base64. */
function decode(text: string): Buffer | undefined {
  const digits = text.slice(text.indexOf("_") + 1);
  return BASE64.test(digits) ? Buffer.from(digits, "base64") : undefined;
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** The message that is signed. */
interface WebhookMessage {
  /**
   * The id of the message, the same at each attempt. It consists of visible
   * ASCII and contains no text that a caller chose.
   */
  readonly id: string;
  /** The time of this attempt, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The body, exactly as it is sent. */
  readonly body: string;
}

/** The headers of a signed call. */
interface WebhookHeaders {
  /** The message's id. */
  readonly "webhook-id": string;
  /** When it was signed, in seconds since the epoch. */
  readonly "webhook-timestamp": string;
  /** The signatures of all keys, separated by blanks. */
  readonly "webhook-signature": string;
}

/**
 * Signs a message: HMAC-SHA256 (`v1`) with shared secrets, ed25519 (`v1a`) with
 * key pairs. While a key is being replaced, the old one signs too.
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
    throw new RangeError("Cannot sign webhook: its id is not visible ASCII");
  }
  const timestamp = String(Math.floor(message.atMs / 1_000));
  const content = Buffer.from(`${message.id}.${timestamp}.${message.body}`);
  const signatures = secrets.map((secret) => formatSignature(content, secret));
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

function formatSignature(content: Buffer, secret: SigningSecret): string {
  return secret.kind === "symmetric"
    ? `v1,${hmac(content, secret.key).toString("base64")}`
    : `v1a,${sign(null, content, secret.privateKey).toString("base64")}`;
}

function hmac(content: Buffer, key: Uint8Array): Buffer {
  return createHmac("sha256", key).update(content).digest();
}
