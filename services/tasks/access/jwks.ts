/**
 * The identity provider's public keys, fetched from its key set and kept.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Fetch, fetchText } from "./bounded_fetch.ts";
import type { JwtAlgorithm } from "./jwt_algorithm.ts";
import { parseKeySet, type SigningKey } from "./signing_key.ts";

/** Options of {@linkcode Jwks}. */
export interface JwksOptions {
  /** Where the key set is; see {@linkcode jwksUrlOf}. */
  readonly url: string;
  /** Makes the call. */
  readonly fetch: Fetch;
  /** Tells the age of the keys. */
  readonly clock: Clock;
  /** Takes a line when the keys change or cannot be had. */
  readonly logger: Logger;
  /**
   * Milliseconds a fetch may take.
   *
   * @default {5000}
   */
  readonly timeoutMs?: number;
  /**
   * Largest key set that is read, in bytes.
   *
   * @default {262144}
   */
  readonly maxBytes?: number;
  /**
   * After how many milliseconds the keys are fetched anew; they go on working
   * meanwhile.
   *
   * @default {600000}
   */
  readonly maxAgeMs?: number;
  /**
   * For how many milliseconds the keys work while they cannot be fetched anew.
   *
   * @default {86400000}
   */
  readonly maxStaleMs?: number;
  /**
   * Milliseconds between two fetches on account of keys nobody knows.
   *
   * @default {60000}
   */
  readonly unknownKeyPauseMs?: number;
  /**
   * Milliseconds between two fetches after one that failed.
   *
   * @default {10000}
   */
  readonly retryPauseMs?: number;
}

/** Which key is wanted. */
export interface KeyQuery {
  /** The algorithm it has to fit. */
  readonly algorithm: JwtAlgorithm;
  /** The id of the key; any that fits when absent. */
  readonly keyId?: string;
}

/** What looking for a key comes to. */
export type KeysOutcome =
  /** Keys that fit, of which one may have signed. */
  | { readonly kind: "ok"; readonly keys: readonly SigningKey[] }
  /** The provider has no such key. */
  | { readonly kind: "unknown" }
  /** The provider cannot be asked; worth another try later. */
  | { readonly kind: "unavailable"; readonly retryAfterMs: number };

/** Most keys that one signature is tried with. */
const MAX_TRIES = 4;

/** The usual place of an issuer's key set. */
export function jwksUrlOf(issuer: string): string {
  return `${issuer.replace(/\/+$/, "")}/.well-known/jwks.json`;
}

/**
 * Keeps the keys of an identity provider. Fetches once for all who wait, anew
 * when the keys have grown old, and at most once a minute for a key it does
 * not know, so that made-up tokens cannot make it hammer the provider.
 */
export class Jwks {
  readonly #options: Required<JwksOptions>;
  readonly #stopping = new AbortController();
  #keys: readonly SigningKey[] = [];
  #text = "";
  #generation = 0;
  #fetchedAtMs: number | undefined;
  #failedAtMs: number | undefined;
  #unknownAtMs: number | undefined;
  #flight: Promise<void> | undefined;

  /** Keys that are fetched when first needed. */
  constructor(options: JwksOptions) {
    this.#options = {
      timeoutMs: 5_000,
      maxBytes: 262_144,
      maxAgeMs: 600_000,
      maxStaleMs: 86_400_000,
      unknownKeyPauseMs: 60_000,
      retryPauseMs: 10_000,
      ...options,
    };
  }

  /** Changes with every change of the keys. */
  get generation(): number {
    return this.#generation;
  }

  /** Looks for a key; waits only where there is none to try. */
  async find(query: KeyQuery): Promise<KeysOutcome> {
    if (!this.#isUsable()) {
      await this.#fetchUnlessFailed();
    } else if (this.#isOlderThan(this.#options.maxAgeMs)) {
      // Not waited for: the keys at hand are good enough meanwhile.
      this.#fetchUnlessFailed();
    }
    let keys = this.#fitting(query);
    if (keys.length === 0 && this.#mayAskForUnknown()) {
      await this.#fetch();
      keys = this.#fitting(query);
    }
    if (this.#isUsable() && keys.length > 0) return { kind: "ok", keys };
    // While nobody can be asked, a key nobody knows is neither good nor bad.
    return this.#failedAtMs === undefined && this.#isUsable()
      ? { kind: "unknown" }
      : { kind: "unavailable", retryAfterMs: this.#options.retryPauseMs };
  }

  /** Ends a fetch under way; there are no further ones. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#flight;
  }

  /** The same as {@linkcode Jwks.stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #fitting(query: KeyQuery): readonly SigningKey[] {
    const { algorithm, keyId } = query;
    return this.#keys.filter((key) =>
      key.algorithms.includes(algorithm) &&
      (keyId === undefined || key.id === keyId)
    ).slice(0, MAX_TRIES);
  }

  #isUsable(): boolean {
    return this.#fetchedAtMs !== undefined &&
      !this.#isOlderThan(this.#options.maxStaleMs);
  }

  #isOlderThan(ageMs: number): boolean {
    return this.#hasPassed(ageMs, this.#fetchedAtMs);
  }

  #mayAskForUnknown(): boolean {
    if (!this.#isUsable()) return false;
    const { unknownKeyPauseMs } = this.#options;
    if (!this.#hasPassed(unknownKeyPauseMs, this.#unknownAtMs)) return false;
    this.#unknownAtMs = this.#options.clock.nowMs();
    return true;
  }

  async #fetchUnlessFailed(): Promise<void> {
    const { retryPauseMs } = this.#options;
    const isPause = this.#failedAtMs !== undefined &&
      !this.#hasPassed(retryPauseMs, this.#failedAtMs);
    if (!isPause || this.#flight !== undefined) await this.#fetch();
  }

  /** A clock that was set back makes the time count as passed. */
  #hasPassed(periodMs: number, sinceMs: number | undefined): boolean {
    if (sinceMs === undefined) return true;
    const passedMs = this.#options.clock.nowMs() - sinceMs;
    return passedMs < 0 || passedMs >= periodMs;
  }

  #fetch(): Promise<void> {
    this.#flight ??= this.#fetchOnce().finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #fetchOnce(): Promise<void> {
    const { url, clock } = this.#options;
    const outcome = await fetchText(url, {
      ...this.#options,
      init: { headers: { accept: "application/json" } },
      signal: this.#stopping.signal,
    });
    if (outcome.kind === "failed") return this.#fail(outcome.reason);
    if (outcome.status !== 200) {
      return this.#fail(`the answer has status ${outcome.status}`);
    }
    const keys = parseKeySet(outcome.text);
    if (keys === undefined) return this.#fail("the answer is no key set");
    // An empty set is a fault of the provider much rather than its wish to
    // lock everybody out.
    if (keys.length === 0) return this.#fail("the set has no usable key");
    this.#failedAtMs = undefined;
    this.#fetchedAtMs = clock.nowMs();
    if (outcome.text === this.#text) return;
    this.#text = outcome.text;
    this.#keys = keys;
    this.#generation++;
    this.#options.logger.info("Fetched keys of the identity provider", {
      url,
      keys: keys.length,
    });
  }

  #fail(reason: string): void {
    this.#failedAtMs = this.#options.clock.nowMs();
    if (this.#stopping.signal.aborted) return;
    const { logger, url } = this.#options;
    logger.warn("Cannot fetch keys of the identity provider", { url, reason });
  }
}
