/**
 * Stored credentials: whether one is valid for a request.
 *
 * @module
 */

import {
  isInNetworks,
  type Network,
  parseClientAddress,
} from "../../shared/ip_network.ts";
import type { ScopeSet } from "./scope.ts";

/** What every stored credential has. */
export interface Credential {
  /** Its id, with its prefix. */
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal. */
  readonly digest: string;
  /** When it expires, in milliseconds since the epoch; never if absent. */
  readonly expiresAtMs?: number | undefined;
  /** The networks it may be used from; everywhere if absent or empty. */
  readonly networks?: readonly Network[] | undefined;
}

/** What authentication needs of an API key. */
export interface KeyCredential extends Credential {
  /** The scopes that the key has. */
  readonly scopes: ScopeSet;
  /** Whether it sees the data and results of tasks. */
  readonly payloads: boolean;
  /** The user who made it; absent for the first key of a tenant. */
  readonly madeBy?: string | undefined;
}

/** Options of {@linkcode checkCredential}. */
interface CheckCredentialOptions {
  /** Whether the presented secret has the stored digest. */
  readonly matches: (stored: string | undefined) => boolean;
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Where the request came from; `undefined` when that is not known. */
  readonly clientAddress: string | undefined;
}

/** Whether a credential is accepted. */
export type CredentialOutcome =
  | { readonly kind: "ok" }
  | {
    readonly kind: "refused";
    /** The problem code to answer with. */
    readonly code: "invalid_credentials" | "token_expired" | "forbidden";
    /** Why, as a message for the client. */
    readonly reason: string;
  };

/**
 * Tells whether a secret matches a stored credential, and whether the
 * credential may be used now and from this address. Reasons such as "expired"
 * are given only to a caller who knows the secret. A credential that does not
 * exist takes the same time and gives the same answer as a wrong secret, so ids
 * cannot be probed.
 */
export function checkCredential(
  credential: Credential | undefined,
  options: CheckCredentialOptions,
): CredentialOutcome {
  const { matches, nowMs, clientAddress } = options;
  const isMatch = matches(credential?.digest);
  if (credential === undefined || !isMatch) return INVALID;
  if (credential.expiresAtMs !== undefined && nowMs >= credential.expiresAtMs) {
    return EXPIRED;
  }
  return mayComeFrom(credential.networks ?? [], clientAddress) ? OK : ELSEWHERE;
}

/**
 * Tells when to store that a credential was used: at most once a minute, so
 * that a busy key costs one write a minute.
 *
 * @param lastUsedMs The time that is stored already.
 * @returns The minute to write, in milliseconds since the epoch; `undefined`
 * when there is nothing to write.
 */
export function lastUsedToWrite(
  lastUsedMs: number | undefined,
  nowMs: number,
): number | undefined {
  const minuteMs = nowMs - nowMs % 60_000;
  return lastUsedMs === undefined || lastUsedMs < minuteMs
    ? minuteMs
    : undefined;
}

const OK: CredentialOutcome = { kind: "ok" };

/** The one answer to credentials that do not exist or do not match. */
export const INVALID = {
  kind: "refused",
  code: "invalid_credentials",
  reason: "Cannot accept credentials: they are not valid here",
} as const satisfies CredentialOutcome;

const EXPIRED: CredentialOutcome = {
  kind: "refused",
  code: "token_expired",
  reason: "Cannot accept credentials: they have expired; create new ones",
};

const ELSEWHERE: CredentialOutcome = {
  kind: "refused",
  code: "forbidden",
  reason: "Cannot accept credentials: they may not be used from this address",
};

function mayComeFrom(
  networks: readonly Network[],
  clientAddress: string | undefined,
): boolean {
  if (networks.length === 0) return true;
  const address = clientAddress === undefined
    ? undefined
    : parseClientAddress(clientAddress);
  return address !== undefined && isInNetworks(networks, address);
}
