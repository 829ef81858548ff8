/**
 * Parses the `Authorization` header, once for each headers object, and checks
 * the tokens of the operator.
 *
 * @module
 */

import {
  type CredentialToken,
  digestMatches,
  hashSecret,
  parseToken,
  parseWorkerLogin,
  type WorkerLogin,
} from "./credential_token.ts";
import { type HeaderValues, singleValue } from "./host.ts";

/** What an `Authorization` header carries; nothing of it is verified yet. */
type Authorization =
  /** The header is missing. */
  | { readonly kind: "missing" }
  /** An API key whose checksum is right. */
  | { readonly kind: "api_key"; readonly token: CredentialToken }
  /** A worker's credential whose checksum is right. */
  | { readonly kind: "worker" } & WorkerLogin
  /**
   * A token of three parts with dots between them, as identity providers issue.
   */
  | { readonly kind: "jwt"; readonly token: string }
  | {
    readonly kind: "malformed";
    /** The problem code to answer with. */
    readonly code: "bad_header" | "invalid_credentials";
    /** Why, as a message for the client; holds nothing of the header. */
    readonly reason: string;
  };

/** The outcome of reading a bearer token. */
type BearerOutcome =
  | { readonly kind: "ok"; readonly token: string }
  | Extract<Authorization, { readonly kind: "missing" | "malformed" }>;

/** Longest JSON Web Token that is read, in characters. */
export const MAX_JWT_LENGTH = 8_192;

/** Three parts of base64url without padding (RFC 7515, 3.1). */
export const JWT_SHAPE = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * Longest header that is read, in characters: the longest token, and room for
 * its scheme.
 */
const MAX_AUTHORIZATION_LENGTH = MAX_JWT_LENGTH + 64;

/** `token68` of RFC 9110, 11.2, which RFC 6750 calls `b64token`. */
const TOKEN68 = /^[A-Za-z0-9._~+/-]+=*$/;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Tells what an `Authorization` header carries: `Bearer` with an API key, a
 * worker's credential or a JWT, or `Basic` with a worker's key and secret.
 */
export function parseAuthorization(header: HeaderValues): Authorization {
  const parts = schemeAndToken(header);
  if (parts.kind !== "ok") return parts;
  switch (parts.scheme) {
    case "bearer":
      return classify(parts.token);
    case "basic":
      return basicLogin(parts.token);
    default:
      return UNKNOWN_SCHEME;
  }
}

/**
 * Reads any bearer token, for routes with tokens of their own kind, such as the
 * operator's.
 */
export function parseBearer(header: HeaderValues): BearerOutcome {
  const parts = schemeAndToken(header);
  if (parts.kind !== "ok") return parts;
  return parts.scheme === "bearer"
    ? { kind: "ok", token: parts.token }
    : UNKNOWN_SCHEME;
}

type Malformed = Extract<Authorization, { readonly kind: "malformed" }>;

type SchemeAndToken =
  | { readonly kind: "ok"; readonly scheme: string; readonly token: string }
  | Extract<Authorization, { readonly kind: "missing" }>
  | Malformed;

const MISSING: Authorization & { readonly kind: "missing" } = {
  kind: "missing",
};

const DOUBLED: Malformed = malformed("bad_header", "it is given twice");

const TOO_LONG: Malformed = malformed(
  "bad_header",
  `it is longer than ${MAX_AUTHORIZATION_LENGTH} characters`,
);

const NO_TOKEN: Malformed = malformed(
  "invalid_credentials",
  'it does not have the form "Bearer <token>"',
);

const UNKNOWN_SCHEME: Malformed = malformed(
  "invalid_credentials",
  'its scheme is not accepted here, use "Bearer <token>"',
);

const UNKNOWN_TOKEN: Malformed = malformed(
  "invalid_credentials",
  "its token is incomplete or of an unknown kind",
);

const BAD_BASIC: Malformed = malformed(
  "invalid_credentials",
  "Basic accepts the key and the secret of a worker and nothing else",
);

function schemeAndToken(header: HeaderValues): SchemeAndToken {
  if (header === null || header === undefined) return MISSING;
  const value = singleValue(header);
  if (value === undefined) return header.length === 0 ? MISSING : DOUBLED;
  if (value.length > MAX_AUTHORIZATION_LENGTH) return TOO_LONG;
  const text = value.trim();
  const spaceAt = text.indexOf(" ");
  if (spaceAt === -1) return text === "" ? MISSING : NO_TOKEN;
  // More than one space is allowed (RFC 9110, 11.4).
  const token = text.slice(spaceAt + 1).trimStart();
  // A comma means that a server joined several headers into one.
  if (!TOKEN68.test(token)) return token.includes(",") ? DOUBLED : NO_TOKEN;
  return { kind: "ok", scheme: text.slice(0, spaceAt).toLowerCase(), token };
}

function classify(token: string): Authorization {
  if (token.startsWith("dk_") || token.startsWith("wk_")) {
    const parsed = parseToken(token);
    if (parsed === undefined) return UNKNOWN_TOKEN;
    return parsed.prefix === "dk"
      ? { kind: "api_key", token: parsed }
      : { kind: "worker", token: parsed };
  }
  return JWT_SHAPE.test(token) ? { kind: "jwt", token } : UNKNOWN_TOKEN;
}

function basicLogin(token: string): Authorization {
  const text = decodeBase64(token);
  const login = text === undefined ? undefined : parseWorkerLogin(text);
  return login === undefined ? BAD_BASIC : { kind: "worker", ...login };
}

function decodeBase64(text: string): string | undefined {
  try {
    return UTF8.decode(Uint8Array.fromBase64(text));
  } catch {
    // The text is not base64, or not UTF-8; nothing else throws here.
    return undefined;
  }
}

function malformed(code: Malformed["code"], why: string): Malformed {
  return {
    kind: "malformed",
    code,
    reason: `Cannot read Authorization header: ${why}`,
  };
}

/**
 * Parses `Authorization` headers and hashes their secrets, and remembers both.
 */
export class PresentedCredentials {
  readonly #read = new WeakMap<object, Authorization>();
  readonly #digests = new WeakMap<CredentialToken, string>();
  /** The stored digest that a token's secret is known to match. */
  readonly #matched = new WeakMap<CredentialToken, string>();

  /** Parses a header; nothing in it is verified yet. */
  read(
    { authorization, head }: {
      readonly authorization: HeaderValues;
      readonly head?: object;
    },
  ): Authorization {
    if (head === undefined) return parseAuthorization(authorization);
    let read = this.#read.get(head);
    if (read === undefined) {
      read = parseAuthorization(authorization);
      this.#read.set(head, read);
    }
    return read;
  }

  /** The digest of a token's secret. */
  getDigest(token: CredentialToken): string {
    let digest = this.#digests.get(token);
    if (digest === undefined) {
      digest = hashSecret(token.secret);
      this.#digests.set(token, digest);
    }
    return digest;
  }

  /**
   * Whether a token's secret has the stored digest. A match is remembered with
   * the token object, so the comparison is made once.
   */
  matches(token: CredentialToken, stored: string | undefined): boolean {
    if (stored !== undefined && this.#matched.get(token) === stored) {
      return true;
    }
    const isMatch = digestMatches(this.getDigest(token), stored);
    if (isMatch && stored !== undefined) this.#matched.set(token, stored);
    return isMatch;
  }
}

/** Fewest characters of an operator's token: 128 bits as base64. */
const MIN_LENGTH = 22;

/**
 * Tells what is wrong with a token that the operator configures: it must fit
 * into a header and be too long to be guessed.
 *
 * @param name The setting it comes from.
 * @returns A message that does not hold the token, or `undefined` when nothing
 * is wrong.
 */
export function configuredTokenFault(
  token: string,
  name: string,
): string | undefined {
  if (token.length < MIN_LENGTH) {
    return `Cannot use ${name}: it has ${token.length} characters, ` +
      `${MIN_LENGTH} are the fewest; make one with "openssl rand -hex 32"`;
  }
  return /^[A-Za-z0-9._~+/-]+=*$/.test(token)
    ? undefined
    : `Cannot use ${name}: it has characters that a bearer token cannot ` +
      'have; make one with "openssl rand -hex 32"';
}

/**
 * Tells whether a token is one of those that the operator has configured, by
 * digests and in constant time. Without any configured token, none is accepted.
 *
 * @param digests The configured tokens as {@linkcode hashSecret} returns them.
 */
export function isOperatorToken(
  token: string,
  digests: readonly string[],
): boolean {
  const digest = hashSecret(token);
  let found = false;
  for (const stored of digests) {
    found = digestMatches(digest, stored) || found;
  }
  return found;
}

/** How many characters of a token's digest name it in a session. */
const OPERATOR_ID_CHARS = 16;

/**
 * The name of an operator's token in sessions, which tells nothing of the
 * token.
 */
export function operatorSessionId(token: string): string {
  return hashSecret(token).slice(0, OPERATOR_ID_CHARS);
}

/** Whether the token that a session was opened with is still configured. */
export function isOperatorSession(
  id: string,
  digests: readonly string[],
): boolean {
  return id.length === OPERATOR_ID_CHARS &&
    digests.some((digest) => digest.startsWith(id));
}
