/**
 * Signs requests by the protocol alone: no code is shared with the SDK or the
 * relayer, so a fault in their signing code is noticed.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, randomUUID, sign } from "node:crypto";

/** The key that signs a request. */
export interface HandKey {
  /** The private key's seed, 64 hexadecimal digits. */
  readonly key: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The account id; empty for none. */
  readonly accountId: string;
}

/** The parts of a request that are signed. */
export interface HandRequest {
  /** The method, in capitals. */
  readonly method: string;
  /** The path and query as they are sent. */
  readonly target: string;
  /** The body as it is sent; empty for none. */
  readonly body: string;
}

/** Options of {@linkcode signByHand}. */
export interface HandSignatureOptions {
  /**
   * The signing time, in seconds since the epoch, as text.
   *
   * @default now
   */
  readonly timestamp?: string;
  /**
   * The nonce of the request.
   *
   * @default a new UUID
   */
  readonly nonce?: string;
  /**
   * Whether to sign only the four fields that the oldest client signs, which
   * uses neither nonce nor account.
   *
   * @default {false}
   */
  readonly isLegacy?: boolean;
}

/**
 * The bytes before the seed in a PKCS#8 document of an Ed25519 key, in
 * hexadecimal (RFC 8410, 7).
 */
const PKCS8_HEAD = "302e020100300506032b657004220420";

/** Returns the header fields of a signed request. */
export function signByHand(
  request: HandRequest,
  signer: HandKey,
  options: HandSignatureOptions = {},
): Record<string, string> {
  const { method, target, body } = request;
  const {
    timestamp = String(Math.floor(Date.now() / 1_000)),
    nonce = randomUUID(),
    isLegacy = false,
  } = options;
  const bodyDigest = createHash("sha256").update(body).digest("hex");
  const fields = [timestamp, method, target, bodyDigest];
  if (!isLegacy) fields.push(nonce, signer.accountId);
  const key = createPrivateKey({
    key: Buffer.from(PKCS8_HEAD + signer.key, "hex"),
    format: "der",
    type: "pkcs8",
  });
  const signature = sign(null, Buffer.from(fields.join(".")), key);
  return {
    ...(body === "" ? {} : { "content-type": "application/json" }),
    "x-public-key": signer.publicKey,
    "x-signature": signature.toString("hex"),
    "x-timestamp": timestamp,
    ...(isLegacy ? {} : { "x-nonce": nonce }),
    ...(isLegacy || signer.accountId === ""
      ? {}
      : { "x-account-id": signer.accountId }),
  };
}
