/**
 * The claims of a token: who it is for, who it names, and when it is valid
 * (RFC 7519, 4.1).
 *
 * @module
 */

import type { JsonObject } from "./json_object.ts";

/** Who a token names. */
export interface TokenSubject {
  /** Who issued it. */
  readonly issuer: string;
  /** The user's id at the issuer. */
  readonly subject: string;
  /** The user's address; only where the issuer says that it was verified. */
  readonly verifiedEmail?: string;
  /** The user's name. */
  readonly name?: string;
  /** When it ends, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** What the claims of a token are measured by. */
export interface JwtExpectations {
  /** The issuer, exactly as tokens write it. */
  readonly issuer: string;
  /** The audiences; a token has to be for one of them. */
  readonly audiences: readonly string[];
}

/** What the claims of a token come to. */
export type ClaimsOutcome =
  | { readonly kind: "ok"; readonly subject: TokenSubject }
  | {
    readonly kind: "refused";
    /** Which problem to answer with. */
    readonly code: "invalid_credentials" | "token_expired";
    /** Why, as a message for the client; holds nothing secret. */
    readonly reason: string;
  };

/** By how much the issuer's clock may be ahead of ours. */
const LEEWAY_SECONDS = 60;

/** OpenID Connect Core, 2: a subject has at most 255 ASCII characters. */
const MAX_SUBJECT_LENGTH = 255;
/** RFC 5321, 4.5.3.1.3: a path has at most 256 octets, two of them brackets. */
const MAX_EMAIL_LENGTH = 254;
const MAX_NAME_LENGTH = 200;

/**
 * Tells whether a token is one of that issuer and for us. To be asked before
 * anything is done for a token, such as fetching keys.
 *
 * @returns Why not, or `undefined` when it is.
 */
export function addressFault(
  claims: JsonObject,
  expectations: JwtExpectations,
): string | undefined {
  if (claims.iss !== expectations.issuer) return refusal("issuer");
  const audiences: readonly unknown[] = Array.isArray(claims.aud)
    ? claims.aud
    : [claims.aud];
  return expectations.audiences.some((one) => audiences.includes(one))
    ? undefined
    : refusal("audience");
}

/**
 * Tells who a token names and whether it is valid at this time. `exp` is
 * needed and exact; `nbf` and `iat` may be a minute ahead.
 */
export function checkClaims(
  claims: JsonObject,
  options: JwtExpectations & { readonly nowMs: number },
): ClaimsOutcome {
  const addressed = addressFault(claims, options);
  if (addressed !== undefined) return invalid(addressed);
  const nowSeconds = options.nowMs / 1_000;
  for (const name of ["nbf", "iat"] as const) {
    const from = claims[name];
    if (from === undefined) continue;
    if (!isDate(from)) return invalid(notADate(name));
    if (from > nowSeconds + LEEWAY_SECONDS) {
      return invalid("Cannot accept token: it is not valid yet");
    }
  }
  if (!isDate(claims.exp)) return invalid(notADate("exp"));
  if (claims.exp <= nowSeconds) return EXPIRED;
  const subject = claims.sub;
  if (!isText(subject, MAX_SUBJECT_LENGTH)) return invalid(refusal("subject"));
  const email = claims.email_verified === true ? claims.email : undefined;
  return {
    kind: "ok",
    subject: {
      issuer: options.issuer,
      subject,
      ...(isText(email, MAX_EMAIL_LENGTH) ? { verifiedEmail: email } : {}),
      ...(isText(claims.name, MAX_NAME_LENGTH) ? { name: claims.name } : {}),
      expiresAtMs: claims.exp * 1_000,
    },
  };
}

const EXPIRED: ClaimsOutcome = {
  kind: "refused",
  code: "token_expired",
  reason: "Cannot accept token: it has expired, log in again",
};

/** A `NumericDate` (RFC 7519, 2): seconds, perhaps with a fraction. */
function isDate(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxLength;
}

function refusal(claim: string): string {
  return `Cannot accept token: its ${claim} is not one that is taken here`;
}

function notADate(claim: string): string {
  return `Cannot accept token: its "${claim}" is missing or no date`;
}

function invalid(reason: string): ClaimsOutcome {
  return { kind: "refused", code: "invalid_credentials", reason };
}
