/**
 * Access tokens for tests, made independently of the SDK.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Signer } from "./signer.ts";

/** What a token's payload says, in the order of the text. */
export interface TokenPayload {
  /** The key; the signer's unless given. */
  readonly iss?: unknown;
  /** The account. */
  readonly sub: unknown;
  /** The token's id. */
  readonly jti?: unknown;
  /** When it was made, in seconds. */
  readonly iat: unknown;
  /** When it expires, in seconds. */
  readonly exp: unknown;
  /** What it permits. */
  readonly scope?: unknown;
  /** The namespaces; all unless given. */
  readonly namespaces?: unknown;
}

const HEADER = { alg: "EdDSA", typ: "tercet-access-1+jwt" };

/** Makes a token; the scope is `write` unless the payload says otherwise. */
export function makeToken(signer: Signer, payload: TokenPayload): string {
  const { sub, iat, exp, namespaces } = payload;
  const { iss = signer.publicKey, jti = "t1", scope = "write" } = payload;
  return signToken(
    signer,
    JSON.stringify({ iss, sub, jti, iat, exp, scope, namespaces }),
  );
}

/** Signs any text as a token's payload. */
export function signToken(
  signer: Signer,
  payload: string,
  header: unknown = HEADER,
): string {
  const text = [JSON.stringify(header), payload]
    .map((part) => Buffer.from(part).toString("base64url")).join(".");
  const signature = signer.sign(new TextEncoder().encode(text));
  return `${text}.${Buffer.from(signature).toString("base64url")}`;
}
