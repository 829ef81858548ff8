/**
 * Credentials at hand, so that a request need not wait for the store. It holds
 * digests only, never secrets, and the secret is checked against them each time.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Credential } from "./credential.ts";

/** Options of {@linkcode CredentialCache}. */
export interface CredentialCacheOptions {
  /** Tells the age of entries. */
  readonly clock: Clock;
  /**
   * Most credentials kept.
   *
   * @default {10000}
   */
  readonly maxEntries?: number;
  /**
   * How long a credential is used without a look at the store, in milliseconds:
   * the longest that one revoked by another process goes on working.
   *
   * @default {5000}
   */
  readonly maxAgeMs?: number;
}

interface Entry<C> {
  readonly credential: C;
  readonly loadedAtMs: number;
}

/** Keeps credentials by tenant and id. What does not exist is not kept. */
export class CredentialCache<C extends Credential> {
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #entries: BoundedMap<string, Entry<C>>;
  /** Counts what was forgotten, so that a load under way cannot bring it back. */
  #forgotten = 0;

  /** An empty cache. */
  constructor(options: CredentialCacheOptions) {
    this.#clock = options.clock;
    this.#maxAgeMs = options.maxAgeMs ?? 5_000;
    this.#entries = new BoundedMap({
      maxEntries: options.maxEntries ?? 10_000,
    });
  }

  /**
   * A credential, from the cache or else from `load`.
   *
   * @returns A value at once when it is at hand, otherwise a promise.
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
      if (ageMs >= 0 && ageMs < this.#maxAgeMs) return entry.credential;
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
