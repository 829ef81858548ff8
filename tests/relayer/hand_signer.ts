/**
 * Signs requests by the protocol alone: nothing here is shared with the SDK or
 * the relayer, so a fault of theirs cannot hide in it.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, randomUUID, sign } from "node:crypto";

/** Who signs. */
export interface HandKey {
  /** The private key's seed, 64 hexadecimal digits. */
  readonly key: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The account; empty for none. */
  readonly accountId: string;
}

/** What is signed. */
export interface HandRequest {
  /** The method, in capitals. */
  readonly method: string;
  /** Path and query as they are sent. */
  readonly target: string;
  /** The body as it is sent; empty for none. */
  readonly body: string;
}

/** Options of {@linkcode signByHand}. */
export interface HandSignatureOptions {
  /**
   * Seconds since the epoch, as text.
   *
   * @default now
   */
  readonly timestamp?: string;
  /**
   * The nonce.
   *
   * @default a new UUID
   */
  readonly nonce?: string;
  /**
   * Whether only the four fields of the oldest client are signed, which knows
   * neither nonce nor account.
   *
   * @default {false}
   */
  readonly isLegacy?: boolean;
}

/** What a PKCS#8 document of an Ed25519 seed begins with (RFC 8410, 7). */
const PKCS8_HEAD = "302e020100300506032b657004220420";

/** Gives the header fields of a signed request. */
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
