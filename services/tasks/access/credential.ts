/**
 * Stored credentials, and whether one lets somebody in.
 *
 * @module
 */

import { digestMatches } from "./credential_token.ts";
import { isInNetworks, type Network, parseAddress } from "./network.ts";
import type { ScopeSet } from "./scope.ts";

/** What every stored credential has. */
export interface Credential {
  /** Its id, with its prefix. */
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal. */
  readonly digest: string;
  /** When it stops working, in milliseconds since the epoch; never if absent. */
  readonly expiresAtMs?: number;
  /** Where it may be used from; from everywhere if empty. */
  readonly networks: readonly Network[];
}

/** An API key as it is stored. */
export interface ApiKey extends Credential {
  /** What it may do. */
  readonly scopes: ScopeSet;
  /** Whether it sees the data and results of tasks. */
  readonly payloads: boolean;
  /** The user who made it; absent for the first key of a tenant. */
  readonly madeBy?: string;
}

/** A worker's credential as it is stored. */
export interface WorkerCredential extends Credential {
  /** The worker, and the only one, whose tasks it can take. */
  readonly workerId: string;
  /** Whether leases may carry the worker's secrets. */
  readonly secrets: boolean;
}

/** What {@linkcode checkCredential} judges by. */
export interface CheckCredentialOptions {
  /** The digest of the secret that was presented. */
  readonly digest: string;
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Where the request came from; `undefined` when that is not known. */
  readonly clientAddress: string | undefined;
}

/** Whether a credential lets somebody in. */
export type CredentialOutcome =
  | { readonly kind: "ok" }
  | {
    readonly kind: "refused";
    /** Which problem to answer with. */
    readonly code: "invalid_credentials" | "token_expired" | "forbidden";
    /** Why, as a message for the client. */
    readonly reason: string;
  };

/**
 * Tells whether a secret fits a stored credential and may be used now and from
 * here. Whatever else is wrong is told only to who knows the secret; a
 * credential that is not there takes the same time and gives the same answer
 * as a wrong secret.
 */
export function checkCredential(
  credential: Credential | undefined,
  options: CheckCredentialOptions,
): CredentialOutcome {
  const { digest, nowMs, clientAddress } = options;
  const fits = digestMatches(digest, credential?.digest);
  if (credential === undefined || !fits) return INVALID;
  if (credential.expiresAtMs !== undefined && nowMs >= credential.expiresAtMs) {
    return EXPIRED;
  }
  return mayComeFrom(credential.networks, clientAddress) ? OK : ELSEWHERE;
}

/**
 * When to note that a credential was used: at minute precision, so that a busy
 * key costs one write a minute.
 *
 * @param lastUsedMs What is noted already.
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

const INVALID: CredentialOutcome = {
  kind: "refused",
  code: "invalid_credentials",
  reason: "Cannot accept credentials: they are not valid here",
};

const EXPIRED: CredentialOutcome = {
  kind: "refused",
  code: "token_expired",
  reason: "Cannot accept credentials: they have expired, make new ones",
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
    : parseAddress(clientAddress);
  return address !== undefined && isInNetworks(networks, address);
}
