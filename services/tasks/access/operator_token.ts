/**
 * Tokens that the operator configures: the own one, which the accounts
 * administration asks for, and the one that creates tenants.
 *
 * @module
 */

import { digestMatches, digestOf } from "./credential_token.ts";

/** Fewest characters of such a token: 128 bits as base64. */
const MIN_LENGTH = 22;

/**
 * What is wrong with a token that an operator wants to configure: it has to
 * fit into a header and be too long to be guessed.
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
