/**
 * Reads access tokens: what a token permits, and the bytes that its signature
 * covers. Nothing here verifies the signature.
 *
 * A token is a JWS in its compact form (RFC 7515, 7.1), signed with Ed25519
 * (RFC 8037) by a delegate. Its header is always the same text, which names the
 * version, so that a token cannot choose the algorithm. Its claims have one order and
 * one spelling, so that no two readers understand a token differently.
 *
 * @module
 */

import { Buffer, isUtf8 } from "node:buffer";
import { isJsonObject } from "../../shared/schema/schema.ts";
import { normalizeLedgerId } from "../ledger/ledger_id.ts";

/** What a token permits; `write` includes `read`. */
export type TokenScope = "read" | "write";

/** What the bearer of a verified token may do for the account. */
export interface TokenGrant {
  /** The token's id, which tells tokens apart and is no secret. */
  readonly id: string;
  /** Whether the token may change something. */
  readonly scope: TokenScope;
  /** The namespaces it may use; undefined for all. */
  readonly namespaces: ReadonlySet<string> | undefined;
}

/** The claims of a token. */
export interface TokenClaims extends TokenGrant {
  /** The public key of the delegate who signed, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The account's id, in its normal form. */
  readonly accountId: string;
  /** When the token was made, in seconds since the epoch. */
  readonly issuedAtS: number;
  /** When the token expires, in seconds since the epoch. */
  readonly expiresAtS: number;
}

/** A token whose form is right. */
interface ReadToken {
  /** Tells it from another text. */
  readonly kind: "ok";
  /** What the token says. */
  readonly claims: TokenClaims;
  /** The bytes that were signed. */
  readonly message: Uint8Array;
  /** The signature, 64 bytes. */
  readonly signature: Uint8Array;
}

/** Most characters of a token. */
export const MAX_TOKEN_CHARS = 4_096;
/** The longest life of a token, in seconds: 400 days. */
export const MAX_TOKEN_LIFE_S = 400 * 86_400;
/** The header, which is the same for all tokens of this version. */
const HEADER = Buffer.from('{"alg":"EdDSA","typ":"tercet-access-1+jwt"}')
  .toString("base64url");
const TOKEN = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const PUBLIC_KEY = /^[0-9a-f]{64}$/;
const MAX_NAMESPACE_BYTES = 255;

/** Whether a bearer token claims to be an access token of any version. */
export function isAccessToken(token: string): boolean {
  return /^eyJ[^.]*\.[^.]*\.[^.]*$/.test(token);
}

/**
 * Reads a token.
 *
 * @returns undefined when it is no access token of this version
 */
export function readToken(token: string): ReadToken | undefined {
  if (token.length > MAX_TOKEN_CHARS) return undefined;
  const [, header, payload = "", code = ""] = TOKEN.exec(token) ?? [];
  if (header !== HEADER) return undefined;
  const signature = decode(code);
  const text = decode(payload);
  if (signature === undefined || text === undefined || !isUtf8(text)) {
    return undefined;
  }
  const claims = readClaims(text.toString("utf8"));
  if (claims === undefined) return undefined;
  const message = Buffer.from(`${header}.${payload}`, "latin1");
  return { kind: "ok", claims, message, signature };
}

/** Decodes Base64url of the one spelling that encoders give. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function readClaims(text: string): TokenClaims | undefined {
  const json = parse(text);
  if (!isJsonObject(json)) return undefined;
  const { iss, sub, jti, iat, exp, scope, namespaces } = json;
  // A member twice, another order, a space or an unknown member: each makes
  // another text.
  const known = { iss, sub, jti, iat, exp, scope, namespaces };
  if (JSON.stringify(known) !== text) return undefined;
  const accountId = typeof sub === "string"
    ? normalizeLedgerId(sub)
    : undefined;
  const names = namespaces === undefined ? "all" : readNames(namespaces);
  const isValid = typeof iss === "string" && PUBLIC_KEY.test(iss) &&
    typeof jti === "string" && ID.test(jti) &&
    isSeconds(iat) && isSeconds(exp) && (scope === "read" || scope === "write");
  if (!isValid || accountId === undefined || names === undefined) {
    return undefined;
  }
  return {
    id: jti,
    scope,
    namespaces: names === "all" ? undefined : names,
    publicKey: iss,
    accountId,
    issuedAtS: iat,
    expiresAtS: exp,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports that it is no token.
    return undefined;
  }
}

function isSeconds(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

function readNames(value: unknown): ReadonlySet<string> | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const names = new Set<string>();
  for (const name of value) {
    const isName = typeof name === "string" && name.trim() !== "" &&
      name.isWellFormed() && Buffer.byteLength(name) <= MAX_NAMESPACE_BYTES;
    if (!isName || names.has(name)) return undefined;
    names.add(name);
  }
  return names;
}

/**
 * Whether a caller may use a namespace: one whose token names it, and one
 * without a token's bounds.
 */
export function isGranted(
  grant: Pick<TokenGrant, "namespaces"> | undefined,
  namespace: string,
): boolean {
  return grant?.namespaces?.has(namespace) ?? true;
}
