/**
 * Clients for tests: keys derived from a number, and requests signed with them
 * independently of the SDK.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  sign,
} from "node:crypto";

/** A client with a key. */
export interface Signer {
  /** The public key, 64 lower-case hexadecimal digits. */
  readonly publicKey: string;
  /** Signs bytes. */
  readonly sign: (message: Uint8Array) => Uint8Array;
}

/** The parts of a request that {@linkcode signedHeaders} signs. */
export interface SignedRequestParts {
  /** The method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Seconds since the epoch, or any text. */
  readonly timestamp: number | string;
  /** The body's bytes; empty unless given. */
  readonly body?: Uint8Array;
  /** The nonce; without it the four-field form is signed. */
  readonly nonce?: string;
  /** The account's id; no header unless given. */
  readonly accountId?: string;
}

/** The bytes before the seed of an Ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8_PREFIX = "302e020100300506032b657004220420";

/** A signer whose key follows from a number. */
export function makeSigner(seed: number): Signer {
  const bytes = createHash("sha256").update(`signer ${seed}`).digest();
  const privateKey = createPrivateKey({
    key: Buffer.concat([Buffer.from(PKCS8_PREFIX, "hex"), bytes]),
    format: "der",
    type: "pkcs8",
  });
  const jwk = createPublicKey(privateKey).export({ format: "jwk" });
  const publicKey = Buffer.from(String(jwk.x), "base64url").toString("hex");
  return {
    publicKey,
    sign: (message) => new Uint8Array(sign(null, message, privateKey)),
  };
}

/** The header fields of a signed request. */
export function signedHeaders(
  signer: Signer,
  parts: SignedRequestParts,
): Record<string, string> {
  const { method, target, nonce, accountId } = parts;
  const digest = createHash("sha256").update(parts.body ?? new Uint8Array())
    .digest("hex");
  const fields = [String(parts.timestamp), method, target, digest];
  if (nonce !== undefined) fields.push(nonce, accountId ?? "");
  const signature = signer.sign(new TextEncoder().encode(fields.join(".")));
  return {
    "x-public-key": signer.publicKey,
    "x-signature": Buffer.from(signature).toString("hex"),
    "x-timestamp": String(parts.timestamp),
    ...(nonce === undefined ? {} : { "x-nonce": nonce }),
    ...(accountId === undefined ? {} : { "x-account-id": accountId }),
  };
}
