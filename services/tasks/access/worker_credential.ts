/**
 * The pair a worker logs in with: `key` is `<tenant>:<id>`, `secret` is a whole
 * token, so `secret` alone will do as a bearer token.
 *
 * @module
 */

import {
  type CredentialToken,
  mintToken,
  parseToken,
  type RandomBytes,
} from "./credential_token.ts";

/** A worker's credential that was just made, as it is shown once. */
export interface MintedWorkerCredential {
  /** The id: `wk_` and 16 characters. */
  readonly id: string;
  /** The user name: `<tenant>:<id>`. */
  readonly key: string;
  /** The password, which is also the bearer token. */
  readonly secret: string;
  /** What to store. */
  readonly digest: string;
}

/** What a worker presents. */
export interface WorkerLogin {
  /** The token. */
  readonly token: CredentialToken;
  /** The tenant it names; absent with a bearer token, which names none. */
  readonly tenant?: string;
}

/** Makes a credential for a worker of the tenant with that domain. */
export function mintWorkerCredential(
  tenantDomain: string,
  randomBytes?: RandomBytes,
): MintedWorkerCredential {
  const token = mintToken("wk", randomBytes);
  return {
    id: token.id,
    key: `${tenantDomain}:${token.id}`,
    secret: token.text,
    digest: token.digest,
  };
}

/**
 * Reads the decoded text of HTTP Basic: `<tenant>:<id>:<secret>`. RFC 7617 ends
 * the user name at the first colon, so clients differ in which of the three
 * they call the user name; joined, they are the same text.
 *
 * @returns `undefined` when it is not that, or key and secret do not belong
 * together.
 */
export function parseWorkerLogin(text: string): WorkerLogin | undefined {
  const [tenant, id, secret, ...more] = text.split(":");
  if (secret === undefined || more.length > 0) return undefined;
  const token = parseToken(secret);
  if (token?.prefix !== "wk" || token.id !== id) return undefined;
  if (tenant === undefined || !/^[A-Za-z0-9-]{1,63}$/.test(tenant)) {
    return undefined;
  }
  return { token, tenant: tenant.toLowerCase() };
}
