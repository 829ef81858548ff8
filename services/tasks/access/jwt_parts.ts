/**
 * Signed tokens in their compact form (RFC 7515, 7.1), taken apart.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { type JsonObject, parseJsonObject } from "./json_object.ts";
import { type JwtAlgorithm, parseJwtAlgorithm } from "./jwt_algorithm.ts";

/** A token taken apart; nothing of it is verified. */
export interface JwtParts {
  /** The algorithm it says it is signed with, one of those that are taken. */
  readonly algorithm: JwtAlgorithm;
  /** The key it says it is signed with; absent when it does not say. */
  readonly keyId?: string;
  /** What it claims. */
  readonly claims: JsonObject;
  /** The bytes that are signed. */
  readonly signed: Uint8Array<ArrayBuffer>;
  /** The signature. */
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** What taking a token apart comes to. */
export type JwtPartsOutcome =
  | { readonly kind: "ok"; readonly parts: JwtParts }
  | {
    readonly kind: "malformed";
    /** Why, for a log; holds nothing secret. */
    readonly reason: string;
  };

/** Longest token that is read, in characters. */
export const MAX_JWT_LENGTH = 8_192;

/** Longest key id; they are a digest, a date or a UUID. */
const MAX_KEY_ID_LENGTH = 256;

/**
 * The kinds of token that may log in; one made for something else, such as a
 * log-out token, says so (RFC 8725, 3.11).
 */
const ACCEPTED_TYPES: readonly string[] = [
  "jwt",
  "at+jwt",
  "application/jwt",
  "application/at+jwt",
];

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Takes a token apart. Headers that would have us fetch or take a key from the
 * token itself (`jku`, `jwk`, `x5u`, `x5c`) are not looked at; one with `crit`
 * is refused, since no extension is known here (RFC 7515, 4.1.11).
 */
export function parseJwt(token: string): JwtPartsOutcome {
  if (token.length > MAX_JWT_LENGTH) return malformed("it is too long");
  const [headerText, claimsText, signatureText, ...more] = token.split(".");
  if (signatureText === undefined || more.length > 0) {
    return malformed("it has not three parts");
  }
  const header = decodeObject(headerText);
  if (header === undefined) return malformed("its header is no JSON object");
  const algorithm = parseJwtAlgorithm(header.alg);
  if (algorithm === undefined) {
    return malformed(`its algorithm ${named(header.alg)} is not taken`);
  }
  if (header.crit !== undefined) return malformed('its header has "crit"');
  if (!isAcceptedType(header.typ)) {
    return malformed(`its type ${named(header.typ)} is not taken`);
  }
  const keyId = header.kid;
  if (keyId !== undefined && !isKeyId(keyId)) {
    return malformed("its key id is no text, or too long");
  }
  const claims = decodeObject(claimsText);
  if (claims === undefined) return malformed("its claims are no JSON object");
  const signature = decodeBytes(signatureText);
  if (signature === undefined || signature.length === 0) {
    return malformed("its signature is not base64url");
  }
  const signed = new TextEncoder().encode(`${headerText}.${claimsText}`);
  const parts = { algorithm, claims, signed, signature };
  return {
    kind: "ok",
    parts: keyId === undefined ? parts : { ...parts, keyId },
  };
}

/** Tells whether a value can be the id of a key. */
export function isKeyId(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_KEY_ID_LENGTH;
}

function isAcceptedType(type: unknown): boolean {
  return type === undefined ||
    typeof type === "string" && ACCEPTED_TYPES.includes(type.toLowerCase());
}

function decodeObject(text: string | undefined): JsonObject | undefined {
  const bytes = decodeBytes(text);
  if (bytes === undefined) return undefined;
  try {
    return parseJsonObject(UTF8.decode(bytes));
  } catch {
    // Not UTF-8; the decoder has no other way to tell.
    return undefined;
  }
}

function decodeBytes(
  text: string | undefined,
): Uint8Array<ArrayBuffer> | undefined {
  // Padding and white space have no place here (RFC 7515, 2).
  if (text === undefined || !/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    // A length that base64 cannot have.
    return undefined;
  }
}

function named(value: unknown): string {
  return typeof value === "string" ? quote(value, { maxChars: 40 }) : "";
}

function malformed(why: string): JwtPartsOutcome {
  return { kind: "malformed", reason: `Cannot read token: ${why}` };
}
