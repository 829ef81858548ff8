/**
 * Keys that sign calls, in the text forms of Standard Webhooks: `whsec_` for a
 * shared secret, `whsk_` and `whpk_` for the halves of an ed25519 key pair.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";

/** A key that signs. */
export type SigningSecret =
  | {
    readonly kind: "symmetric";
    /** The shared secret, 24 to 64 bytes. */
    readonly key: Uint8Array;
  }
  | {
    readonly kind: "asymmetric";
    /** The private ed25519 key. */
    readonly privateKey: KeyObject;
    /** The public key as `whpk_` text, to hand out. */
    readonly publicKeyText: string;
  };

/** A key that checks signatures. */
export type VerifyingKey =
  | Extract<SigningSecret, { readonly kind: "symmetric" }>
  | {
    readonly kind: "asymmetric";
    /** The public ed25519 key. */
    readonly publicKey: KeyObject;
  };

/** What reading a key comes to. */
export type KeyOutcome<Key> =
  | { readonly kind: "ok"; readonly key: Key }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message that holds nothing of the key. */
    readonly reason: string;
  };

/** Options of {@linkcode newSigningSecret} and {@linkcode newSigningKey}. */
export interface NewKeyOptions {
  /**
   * Gives that many random bytes, fit for keys.
   *
   * @default the cryptographic source of the runtime
   */
  readonly randomBytes?: (length: number) => Uint8Array;
}

const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const NEW_SECRET_BYTES = 32;
const ED25519_BYTES = 32;

/** What stands before the key itself in DER: RFC 8410, sections 4 and 7. */
const PRIVATE_KEY_HEAD = "302e020100300506032b657004220420";
const PUBLIC_KEY_HEAD = "302a300506032b6570032100";

const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Makes a shared secret of 32 bytes as `whsec_` text. */
export function newSigningSecret(options: NewKeyOptions = {}): string {
  return `whsec_${encode(randomBytes(NEW_SECRET_BYTES, options))}`;
}

/**
 * Makes an ed25519 key as `whsk_` text: the private and after it the public
 * half, the form that other senders of Standard Webhooks use.
 */
export function newSigningKey(options: NewKeyOptions = {}): string {
  const seed = randomBytes(ED25519_BYTES, options);
  return `whsk_${encode(Buffer.concat([seed, publicHalf(privateKey(seed))]))}`;
}

/**
 * Reads a `whsec_` secret or a `whsk_` key. The public half of the latter may
 * be left out.
 */
export function parseSigningSecret(text: string): KeyOutcome<SigningSecret> {
  if (text.startsWith("whsec_")) return parseShared(text);
  if (text.startsWith("whsk_")) return parsePrivate(text);
  return invalid('it begins with neither "whsec_" nor "whsk_"');
}

/** Reads what a receiver checks with: a `whsec_` secret or a `whpk_` key. */
export function parseVerifyingKey(text: string): KeyOutcome<VerifyingKey> {
  if (text.startsWith("whsec_")) return parseShared(text);
  if (!text.startsWith("whpk_")) {
    return invalid('it begins with neither "whsec_" nor "whpk_"');
  }
  const bytes = decode(text);
  if (bytes?.length !== ED25519_BYTES) {
    return invalid(`it is not ${ED25519_BYTES} bytes as base64`);
  }
  const der = Buffer.concat([Buffer.from(PUBLIC_KEY_HEAD, "hex"), bytes]);
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  return { kind: "ok", key: { kind: "asymmetric", publicKey } };
}

function parseShared(
  text: string,
): KeyOutcome<Extract<SigningSecret, { readonly kind: "symmetric" }>> {
  const key = decode(text);
  const length = key?.length ?? 0;
  if (
    key === undefined || length < MIN_SECRET_BYTES || length > MAX_SECRET_BYTES
  ) {
    return invalid(
      `it is not ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes as base64`,
    );
  }
  return { kind: "ok", key: { kind: "symmetric", key } };
}

function parsePrivate(text: string): KeyOutcome<SigningSecret> {
  const bytes = decode(text);
  const hasPublicHalf = bytes?.length === 2 * ED25519_BYTES;
  if (
    bytes === undefined || (!hasPublicHalf && bytes.length !== ED25519_BYTES)
  ) {
    return invalid("it is no ed25519 key pair as base64");
  }
  const key = privateKey(bytes.subarray(0, ED25519_BYTES));
  const half = publicHalf(key);
  if (hasPublicHalf && !half.equals(bytes.subarray(ED25519_BYTES))) {
    return invalid("its public half belongs to another key");
  }
  const publicKeyText = `whpk_${encode(half)}`;
  return {
    kind: "ok",
    key: { kind: "asymmetric", privateKey: key, publicKeyText },
  };
}

function privateKey(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([Buffer.from(PRIVATE_KEY_HEAD, "hex"), seed]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

function publicHalf(key: KeyObject): Buffer {
  const der = createPublicKey(key).export({ format: "der", type: "spki" });
  return der.subarray(-ED25519_BYTES);
}

function randomBytes(length: number, options: NewKeyOptions): Uint8Array {
  return options.randomBytes?.(length) ??
    crypto.getRandomValues(new Uint8Array(length));
}

/** The bytes after the prefix; `undefined` when they are no proper base64. */
function decode(text: string): Buffer | undefined {
  const digits = text.slice(text.indexOf("_") + 1);
  return BASE64.test(digits) ? Buffer.from(digits, "base64") : undefined;
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function invalid(reason: string): Extract<
  KeyOutcome<never>,
  { readonly kind: "invalid" }
> {
  return { kind: "invalid", reason: `Cannot read signing key: ${reason}` };
}
