/**
 * Verifies JSON Web Tokens of one issuer; `jose` verifies the signatures.
 *
 * @module
 */

import { hash } from "node:crypto";
import { compactVerify, decodeJwt, decodeProtectedHeader } from "jose";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { quote } from "../../shared/quote.ts";
import { settle } from "../../shared/settled.ts";
import { JWT_SHAPE, MAX_JWT_LENGTH } from "./authorization.ts";
import {
  isKeyId,
  type Jwks,
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  type PublicKey,
} from "./jwks.ts";

/** The user that a token names. */
export interface TokenSubject {
  /** Who issued it. */
  readonly issuer: string;
  /** The user's id at the issuer. */
  readonly subject: string;
  /** The user's address; only where the issuer says that it was verified. */
  readonly verifiedEmail?: string | undefined;
  /** The user's name. */
  readonly name?: string | undefined;
  /** When it ends, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** Options of {@linkcode JwtVerifier}. */
interface JwtVerifierOptions {
  /** The issuer, exactly as tokens write it. */
  readonly issuer: string;
  /** The audiences; a token has to be for one of them. */
  readonly audiences: readonly string[];
  /** The keys of the issuer. */
  readonly keys: Pick<Jwks, "find" | "generation">;
  /** Tells the time. */
  readonly clock: Clock;
  /**
   * Most verified tokens that are remembered.
   *
   * @default {10000}
   */
  readonly maxRemembered?: number;
}

/** The outcome of verifying a token. */
export type JwtOutcome =
  | { readonly kind: "ok"; readonly subject: TokenSubject }
  | {
    readonly kind: "refused";
    /** The problem code to answer with. */
    readonly code: "invalid_credentials" | "token_expired";
    /** Why, as a message for the client; holds nothing secret. */
    readonly reason: string;
  }
  | {
    /** The keys are not available, so the token cannot be verified now. */
    readonly kind: "unavailable";
    /** After how many milliseconds to try again. */
    readonly retryAfterMs: number;
  };

type Refused = Extract<JwtOutcome, { readonly kind: "refused" }>;

type Claims = Readonly<Record<string, unknown>>;

/** A decoded token; nothing of it is verified yet. */
interface Decoded {
  readonly kind: "ok";
  readonly algorithm: JwtAlgorithm;
  /** The id of the key that the token names; absent when it names none. */
  readonly keyId: string | undefined;
  readonly claims: Claims;
}

/**
 * The types of token that may log in. A token for another purpose, such as a
 * log-out token, has another type (RFC 8725, 3.11).
 */
const ACCEPTED_TYPES: readonly unknown[] = [
  undefined,
  "jwt",
  "at+jwt",
  "application/jwt",
  "application/at+jwt",
];

/**
 * By how many seconds the issuer's clock may be ahead of the service's clock.
 */
const LEEWAY_SECONDS = 60;

/** OpenID Connect Core, 2: a subject has at most 255 ASCII characters. */
export const MAX_SUBJECT_LENGTH = 255;
/** RFC 5321, 4.5.3.1.3: a path has at most 256 octets, two of them brackets. */
export const MAX_EMAIL_LENGTH = 254;
/** Most characters of the name of a person. */
export const MAX_NAME_LENGTH = 200;

/**
 * For how long a verified token is remembered at most, in milliseconds. It is
 * forgotten earlier when it expires or the issuer's keys change. Each instance
 * remembers by itself: a token cannot be revoked here, but its user can, who is
 * looked up for each request.
 */
const MAX_REMEMBERED_MS = 300_000;

interface Remembered {
  readonly subject: TokenSubject;
  readonly generation: number;
  readonly verifiedAtMs: number;
}

/**
 * Verifies tokens of one issuer, and remembers valid ones by their digest, so
 * that the next request with the same token costs one hash.
 */
export class JwtVerifier {
  readonly #options: JwtVerifierOptions;
  readonly #remembered: BoundedMap<string, Remembered>;

  /**
   * No token is remembered yet.
   *
   * @throws {RangeError} When there is no issuer or no audience: every token
   * of the provider would be accepted, for any audience.
   */
  constructor(options: JwtVerifierOptions) {
    if (options.issuer === "" || options.audiences.length === 0) {
      throw new RangeError(
        "Cannot verify tokens: issuer and audience are not both configured",
      );
    }
    this.#options = options;
    this.#remembered = new BoundedMap({
      maxEntries: options.maxRemembered ?? 10_000,
    });
  }

  /**
   * Tells whether a token is valid, and which user it names.
   *
   * @returns A value at once where the token is remembered, otherwise a
   * promise.
   */
  verify(token: string): JwtOutcome | Promise<JwtOutcome> {
    const digest = hashToken(token);
    const subject = this.#recall(digest);
    return subject === undefined
      ? this.#verify(token, digest)
      : { kind: "ok", subject };
  }

  /** The user of a token that is remembered as valid. */
  recall(token: string): TokenSubject | undefined {
    return this.#recall(hashToken(token));
  }

  #recall(digest: string): TokenSubject | undefined {
    const remembered = this.#remembered.get(digest);
    if (remembered === undefined) return undefined;
    const { clock, keys } = this.#options;
    const nowMs = clock.nowMs();
    const { subject, generation, verifiedAtMs } = remembered;
    const ageMs = nowMs - verifiedAtMs;
    const isFresh = generation === keys.generation && ageMs >= 0 &&
      ageMs < MAX_REMEMBERED_MS && nowMs < subject.expiresAtMs;
    if (isFresh) return subject;
    this.#remembered.delete(digest);
    return undefined;
  }

  async #verify(token: string, digest: string): Promise<JwtOutcome> {
    const { clock, keys } = this.#options;
    const decoded = decode(token);
    if (decoded.kind !== "ok") return decoded;
    const { claims } = decoded;
    // Issuer and audience are checked first, so that no token of another issuer
    // causes a fetch of keys.
    const fault = addressFault(claims, this.#options);
    if (fault !== undefined) return invalid(fault);
    const found = await keys.find(decoded);
    if (found.kind === "unavailable") return found;
    // The generation is read before the signature is verified, to notice when
    // the keys change meanwhile.
    const generation = keys.generation;
    const isSigned = found.kind === "ok" &&
      await isSignedBy(found.keys, { token, algorithm: decoded.algorithm });
    if (!isSigned) return UNSIGNED;
    const verifiedAtMs = clock.nowMs();
    const { issuer } = this.#options;
    const checked = checkClaims(claims, { issuer, nowMs: verifiedAtMs });
    if (checked.kind !== "ok") return checked;
    const { subject } = checked;
    this.#remembered.set(digest, { subject, generation, verifiedAtMs });
    return { kind: "ok", subject };
  }
}

function hashToken(token: string): string {
  return hash("sha256", token, "base64");
}

const UNSIGNED: Refused = invalid(
  "Cannot accept token: no key of the identity provider signed it",
);

/**
 * Decodes a token. Headers that would make the service fetch a key, or take it
 * from the token itself (`jku`, `jwk`, `x5u`, `x5c`), are ignored. A token with
 * `crit` is refused, since no extension is known here (RFC 7515, 4.1.11).
 */
function decode(token: string): Decoded | Refused {
  if (token.length > MAX_JWT_LENGTH) return malformed("it is too long");
  if (!JWT_SHAPE.test(token)) return malformed("it has not three parts");
  const header: Claims | undefined = orUndefined(() =>
    decodeProtectedHeader(token)
  );
  if (header === undefined) return malformed("its header is not a JSON object");
  const { alg, crit, typ, kid } = header;
  const algorithm = JWT_ALGORITHMS.find((name) => name === alg);
  if (algorithm === undefined) {
    return malformed(`its algorithm ${shown(alg)} is not accepted`);
  }
  if (crit !== undefined) return malformed('its header has "crit"');
  const type = typeof typ === "string" ? typ.toLowerCase() : typ;
  if (!ACCEPTED_TYPES.includes(type)) {
    return malformed(`its type ${shown(typ)} is not accepted`);
  }
  if (kid !== undefined && !isKeyId(kid)) {
    return malformed("its key id is not text, or too long");
  }
  const claims = orUndefined(() => decodeJwt(token));
  if (claims === undefined) return malformed("its claims are no JSON object");
  return { kind: "ok", algorithm, keyId: kid, claims };
}

/**
 * The result of a function of `jose`; undefined when the function throws, which
 * it does for a token that it cannot read.
 */
function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Whether one of the keys verifies the signature; `jose` throws for one that
 * does not.
 */
async function isSignedBy(
  keys: readonly PublicKey[],
  { token, algorithm }: {
    readonly token: string;
    readonly algorithm: JwtAlgorithm;
  },
): Promise<boolean> {
  for (const key of keys) {
    const verified = await settle(() =>
      compactVerify(token, key.key, { algorithms: [algorithm] })
    );
    if (verified.kind === "ok") return true;
  }
  return false;
}

/**
 * Checks that a token is of the issuer and for one of the audiences.
 *
 * @returns What is wrong, or `undefined`.
 */
function addressFault(
  claims: Claims,
  { issuer, audiences }: Pick<JwtVerifierOptions, "issuer" | "audiences">,
): string | undefined {
  if (claims.iss !== issuer) return refusal("issuer");
  const named: readonly unknown[] = Array.isArray(claims.aud)
    ? claims.aud
    : [claims.aud];
  return audiences.some((audience) => named.includes(audience))
    ? undefined
    : refusal("audience");
}

/**
 * Checks the times of a token and reads the user that it names. `exp` is
 * required and exact; `nbf` and `iat` may be a minute ahead.
 */
function checkClaims(
  claims: Claims,
  { issuer, nowMs }: { readonly issuer: string; readonly nowMs: number },
): Exclude<JwtOutcome, { readonly kind: "unavailable" }> {
  const nowSeconds = nowMs / 1_000;
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
      issuer,
      subject,
      verifiedEmail: isText(email, MAX_EMAIL_LENGTH) ? email : undefined,
      name: isText(claims.name, MAX_NAME_LENGTH) ? claims.name : undefined,
      expiresAtMs: claims.exp * 1_000,
    },
  };
}

const EXPIRED: Refused = {
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
  return `Cannot accept token: its ${claim} is not one that is accepted here`;
}

function notADate(claim: string): string {
  return `Cannot accept token: its "${claim}" is missing or no date`;
}

function invalid(reason: string): Refused {
  return { kind: "refused", code: "invalid_credentials", reason };
}

function malformed(why: string): Refused {
  return invalid(`Cannot read token: ${why}`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? quote(value, { maxChars: 40 }) : "";
}
