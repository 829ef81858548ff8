/**
 * The text a client signs: the fields of a request, joined with full stops.
 *
 * No two requests have the same text, though a path may hold full stops itself:
 * what stands before the path holds no slash, and what stands after it has a
 * fixed form that {@linkcode readSignedHead} checks.
 *
 * @module
 */

/** What of a request is signed, with the exception of nonce and account. */
export interface CanonicalParts {
  /** Seconds since the epoch, as in the header. */
  readonly timestamp: string;
  /** The method, upper case. */
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /** SHA-256 of the body's bytes, 64 lower-case hexadecimal digits. */
  readonly bodyDigest: string;
}

/** What of a request is signed. */
export interface SignedParts extends CanonicalParts {
  /** The nonce, as in the header. */
  readonly nonce: string;
  /** The account's id, as in the header; empty when there is none. */
  readonly accountId: string;
}

/** The text of a request with its six fields. */
export function canonicalRequest(parts: SignedParts): string {
  return `${legacyCanonicalRequest(parts)}.${parts.nonce}.${parts.accountId}`;
}

/**
 * The text as the oldest released SDK signs it: four fields, and nothing that
 * tells one request from its repetition.
 */
export function legacyCanonicalRequest(parts: CanonicalParts): string {
  const { timestamp, method, target, bodyDigest } = parts;
  return `${timestamp}.${method}.${target}.${bodyDigest}`;
}
