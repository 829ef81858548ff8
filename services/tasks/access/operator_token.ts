/**
 * The operator's token, which the accounts administration asks for.
 *
 * @module
 */

import { digestMatches, digestOf } from "./credential_token.ts";

/** Fewest characters of an operator's token: 128 bits as base64. */
const MIN_LENGTH = 22;

/**
 * What is wrong with a token that an operator wants to configure: it has to
 * fit into a header and be too long to be guessed.
 *
 * @returns A message that does not hold the token, or `undefined` when nothing
 * is wrong.
 */
export function operatorTokenFault(token: string): string | undefined {
  if (token.length < MIN_LENGTH) {
    return `Cannot use operator token: it has ${token.length} characters, ` +
      `${MIN_LENGTH} are the fewest; make one with "openssl rand -hex 32"`;
  }
  return /^[A-Za-z0-9._~+/-]+=*$/.test(token)
    ? undefined
    : "Cannot use operator token: it has characters that a bearer token " +
      'cannot have; make one with "openssl rand -hex 32"';
}

/**
 * Tells whether a token is one of those that the operator has configured, by
 * digests and in constant time. Without any configured nobody is let in.
 *
 * @param digests What {@linkcode digestOf} makes of the configured tokens.
 */
export function isOperatorToken(
  token: string,
  digests: readonly string[],
): boolean {
  const digest = digestOf(token);
  let found = false;
  for (const stored of digests) {
    found = digestMatches(digest, stored) || found;
  }
  return found;
}
