/**
 * Stored credentials: whether one is valid for a request, and a cache of them.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
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
  /** When it stops working, in milliseconds since the epoch; never if absent. */
  readonly expiresAtMs?: number | undefined;
  /** Where it may be used from; from everywhere if absent or empty. */
  readonly networks?: readonly Network[] | undefined;
}

/** What authentication needs of an API key. */
export interface KeyCredential extends Credential {
  /** What it may do. */
  readonly scopes: ScopeSet;
  /** Whether it sees the data and results of tasks. */
  readonly payloads: boolean;
  /** The user who made it; absent for the first key of a tenant. */
  readonly madeBy?: string | undefined;
}

/** What {@linkcode checkCredential} judges by. */
interface CheckCredentialOptions {
  /** Whether the secret that was presented has the digest that is stored. */
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
    /** Which problem to answer with. */
    readonly code: "invalid_credentials" | "token_expired" | "forbidden";
    /** Why, as a message for the client. */
    readonly reason: string;
  };

/**
 * Tells whether a secret fits a stored credential and may be used now and from
 * here. Other reasons are given only to a caller who knows the secret; a
 * credential that is not there takes the same time and gives the same answer
 * as a wrong secret.
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

/** The one answer to credentials that are not there or not right. */
export const INVALID = {
  kind: "refused",
  code: "invalid_credentials",
  reason: "Cannot accept credentials: they are not valid here",
} as const satisfies CredentialOutcome;

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
    : parseClientAddress(clientAddress);
  return address !== undefined && isInNetworks(networks, address);
}

/** Most credentials that are kept. */
const MAX_ENTRIES = 10_000;

/**
 * How long a credential is used without a look at the store: the longest that
 * one revoked by another process still works.
 */
const MAX_AGE_MS = 5_000;

interface Entry<C> {
  readonly credential: C;
  readonly loadedAtMs: number;
}

/** Keeps credentials by tenant and id. What does not exist is not kept. */
export class CredentialCache<C extends Credential> {
  readonly #clock: Clock;
  readonly #entries = new BoundedMap<string, Entry<C>>({
    maxEntries: MAX_ENTRIES,
  });
  /** Counts what was forgotten, so that a load under way cannot bring it back. */
  #forgotten = 0;

  /** An empty cache. */
  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /**
   * A credential, from the cache or else from `load`.
   *
   * @returns A value at once when it is in the cache, otherwise a promise.
   */
  find(
    tenantId: string,
    id: string,
    load: () => Promise<C | undefined>,
  ): C | Promise<C | undefined> {
    const key = keyOf(tenantId, id);
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      const ageMs = this.#clock.nowMs() - entry.loadedAtMs;
      if (ageMs >= 0 && ageMs < MAX_AGE_MS) return entry.credential;
      this.#entries.delete(key);
    }
    return this.#load(key, load);
  }

  /** A credential that was found, which may have been changed or revoked since. */
  recall(tenantId: string, id: string): C | undefined {
    return this.#entries.get(keyOf(tenantId, id))?.credential;
  }

  /** Drops a credential: to be called when it was changed or revoked. */
  forget(tenantId: string, id: string): void {
    this.#forgotten++;
    this.#entries.delete(keyOf(tenantId, id));
  }

  async #load(
    key: string,
    load: () => Promise<C | undefined>,
  ): Promise<C | undefined> {
    const forgotten = this.#forgotten;
    const loadedAtMs = this.#clock.nowMs();
    const credential = await load();
    if (credential !== undefined && forgotten === this.#forgotten) {
      this.#entries.set(key, { credential, loadedAtMs });
    }
    return credential;
  }
}

/** No id has a slash. */
function keyOf(tenantId: string, id: string): string {
  return `${tenantId}/${id}`;
}
