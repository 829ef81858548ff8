/**
 * API keys: what programs of a tenant present.
 *
 * @module
 */

import {
  type CredentialToken,
  type MintedToken,
  mintToken,
  parseToken,
  type RandomBytes,
} from "./credential_token.ts";

/** Makes an API key. Its text is shown once; id and digest are stored. */
export function mintApiKey(randomBytes?: RandomBytes): MintedToken {
  return mintToken("dk", randomBytes);
}

/**
 * Takes an API key apart.
 *
 * @returns `undefined` when it is none, or its checksum is wrong; nothing needs
 * to be looked up then.
 */
export function parseApiKey(text: string): CredentialToken | undefined {
  const token = parseToken(text);
  return token?.prefix === "dk" ? token : undefined;
}
