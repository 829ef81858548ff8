/**
 * Fetches and caches the public keys (JWKS) of an identity provider, which
 * verify the signatures of its tokens.
 *
 * `createRemoteJWKSet` of `jose` is not used: it does not bound the length of
 * the answer, makes callers wait while it fetches again, and does not keep
 * using old keys while the provider is down.
 *
 * @module
 */

import { createPublicKey, type KeyObject } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import { type Fetch, fetchText, parseJsonObject } from "./bounded_fetch.ts";

/** The signature algorithms that are accepted. */
export const JWT_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;

/** A signature algorithm, by its name in JOSE. */
export type JwtAlgorithm = typeof JWT_ALGORITHMS[number];

/** A public key that verifies signatures. */
export interface PublicKey {
  /** The key. */
  readonly key: KeyObject;
  /** Its id; absent when the set gives it none. */
  readonly kid: string | undefined;
  /**
   * The one algorithm that the key is for; absent when it is for every
   * algorithm of its type.
   */
  readonly alg: string | undefined;
}

/** The type of key that each algorithm needs. */
const KEY_TYPES: Readonly<
  Record<JwtAlgorithm, { readonly type: string; readonly curve?: string }>
> = {
  RS256: { type: "rsa" },
  PS256: { type: "rsa" },
  ES256: { type: "ec", curve: "prime256v1" },
  EdDSA: { type: "ed25519" },
};

/** Options of {@linkcode Jwks}. */
interface JwksOptions {
  /** Where the key set is; see {@linkcode toJwksUrl}. */
  readonly url: string;
  /** Makes the call. */
  readonly fetch: Fetch;
  /** Tells the age of the keys. */
  readonly clock: Clock;
  /** Logs changes of the keys, and failures to fetch them. */
  readonly logger: Logger;
}

/** Milliseconds a fetch may take. */
const TIMEOUT_MS = 5_000;

/** Largest key set that is read, in bytes. */
const MAX_BYTES = 262_144;

/**
 * The age, in milliseconds, at which the keys are fetched again; old keys stay
 * in use during the fetch.
 */
const MAX_AGE_MS = 600_000;

/** How long the keys stay in use while fetches fail, in milliseconds. */
const MAX_STALE_MS = 86_400_000;

/** The time between two fetches for unknown keys, in milliseconds. */
const UNKNOWN_KEY_PAUSE_MS = 60_000;

/** The time until the next fetch after one that failed, in milliseconds. */
const RETRY_PAUSE_MS = 10_000;

/** The key that a signature needs. */
interface KeyQuery {
  /** The algorithm of the signature. */
  readonly algorithm: JwtAlgorithm;
  /** The id of the key; if absent, any key of the algorithm will do. */
  readonly keyId?: string | undefined;
}

/** The outcome of looking for a key. */
type KeysOutcome =
  /** Keys of that algorithm; one of them may have signed. */
  | { readonly kind: "ok"; readonly keys: readonly PublicKey[] }
  /** The provider has no such key. */
  | { readonly kind: "unknown" }
  /** The provider cannot be reached now. */
  | { readonly kind: "unavailable"; readonly retryAfterMs: number };

/** Most keys that one signature is tried with. */
const MAX_TRIES = 4;

/** Most keys of a set that are read; the rest is ignored. */
const MAX_KEYS = 100;

/** Longest key id; ids are usually a digest, a date or a UUID. */
const MAX_KEY_ID_LENGTH = 256;

/**
 * Fewest bits of an RSA key (RFC 7518, 3.3). The runtime bounds the length from
 * above.
 */
const MIN_RSA_BITS = 2_048;

/** The usual place of an issuer's key set. */
export function toJwksUrl(issuer: string): string {
  return `${issuer.replace(/\/+$/, "")}/.well-known/jwks.json`;
}

/**
 * Keeps the keys of an identity provider; each instance fetches them by itself,
 * since the provider is what they all agree on. Concurrent callers share one
 * fetch.
 * The keys are fetched again when they are old, and at most once a minute for
 * an unknown key, so that invented tokens cannot make the service flood the
 * provider.
 */
export class Jwks {
  readonly #options: JwksOptions;
  readonly #stopping = new AbortController();
  #keys: readonly PublicKey[] = [];
  #text = "";
  #generation = 0;
  #fetchedAtMs: number | undefined;
  #failedAtMs: number | undefined;
  #unknownAtMs: number | undefined;
  #flight: Promise<void> | undefined;

  /** No key is fetched until one is needed. */
  constructor(options: JwksOptions) {
    this.#options = options;
  }

  /** A number that changes whenever the keys change. */
  get generation(): number {
    return this.#generation;
  }

  /** Looks for a key. Waits for a fetch only when no known key fits. */
  async find(query: KeyQuery): Promise<KeysOutcome> {
    if (!this.#isUsable()) {
      await this.#fetchUnlessFailed();
    } else if (this.#isOlderThan(MAX_AGE_MS)) {
      // The fetch is not awaited: the old keys are in use meanwhile.
      this.#fetchUnlessFailed();
    }
    let keys = this.#fitting(query);
    if (keys.length === 0 && this.#mayAskForUnknown()) {
      await this.#fetch();
      keys = this.#fitting(query);
    }
    if (this.#isUsable() && keys.length > 0) return { kind: "ok", keys };
    // While the provider cannot be reached, an unknown key may be a new one.
    return this.#failedAtMs === undefined && this.#isUsable()
      ? { kind: "unknown" }
      : { kind: "unavailable", retryAfterMs: RETRY_PAUSE_MS };
  }

  /** Aborts the fetch under way; no further one begins. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#flight;
  }

  #fitting(query: KeyQuery): readonly PublicKey[] {
    const { algorithm, keyId } = query;
    return this.#keys.filter((key) =>
      fits(key, algorithm) && (keyId === undefined || key.kid === keyId)
    ).slice(0, MAX_TRIES);
  }

  #isUsable(): boolean {
    return this.#fetchedAtMs !== undefined &&
      !this.#isOlderThan(MAX_STALE_MS);
  }

  #isOlderThan(ageMs: number): boolean {
    return this.#hasPassed(ageMs, this.#fetchedAtMs);
  }

  #mayAskForUnknown(): boolean {
    if (!this.#isUsable()) return false;
    if (!this.#hasPassed(UNKNOWN_KEY_PAUSE_MS, this.#unknownAtMs)) return false;
    this.#unknownAtMs = this.#options.clock.nowMs();
    return true;
  }

  async #fetchUnlessFailed(): Promise<void> {
    const isPause = this.#failedAtMs !== undefined &&
      !this.#hasPassed(RETRY_PAUSE_MS, this.#failedAtMs);
    if (!isPause || this.#flight !== undefined) await this.#fetch();
  }

  /**
   * Whether a period has passed. If the clock was set back, it counts as
   * passed.
   */
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
    const { url, fetch, clock } = this.#options;
    const outcome = await fetchText(url, {
      fetch,
      clock,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      init: { headers: { accept: "application/json" } },
      signal: this.#stopping.signal,
    });
    if (outcome.kind === "failed") return this.#fail(outcome.reason);
    if (outcome.status !== 200) {
      return this.#fail(`the answer has status ${outcome.status}`);
    }
    const keys = parseKeySet(outcome.text);
    if (keys === undefined) return this.#fail("the answer is no key set");
    // An empty set is more likely a fault of the provider than its wish to lock
    // all users out.
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

/** Tells whether a value can be the id of a key. */
export function isKeyId(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_KEY_ID_LENGTH;
}

/**
 * Reads a key set. Keys of other types, for other uses, or too weak are left
 * out, as RFC 7517, 5 says.
 *
 * @returns `undefined` when the text is no key set.
 */
function parseKeySet(text: string): readonly PublicKey[] | undefined {
  const set = parseJsonObject(text);
  if (!Array.isArray(set?.keys)) return undefined;
  const entries: readonly unknown[] = set.keys.slice(0, MAX_KEYS);
  return entries.map(publicKey).filter((key) => key !== undefined);
}

/** Reads one entry of a key set; undefined when the key cannot be used here. */
function publicKey(entry: unknown): PublicKey | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { kid, alg, use, key_ops } = entry;
  const isMeant = (use === undefined || use === "sig") &&
    (key_ops === undefined ||
      Array.isArray(key_ops) && key_ops.includes("verify"));
  const isNamed = (kid === undefined || isKeyId(kid)) &&
    (alg === undefined || typeof alg === "string");
  if (!isMeant || !isNamed) return undefined;
  let key: KeyObject;
  try {
    key = createPublicKey({ key: entry, format: "jwk" });
  } catch {
    // The entry is not a key, such as a point that is not on its curve.
    return undefined;
  }
  const { modulusLength = MIN_RSA_BITS } = key.asymmetricKeyDetails ?? {};
  const found: PublicKey = { key, kid, alg };
  return modulusLength >= MIN_RSA_BITS &&
      JWT_ALGORITHMS.some((algorithm) => fits(found, algorithm))
    ? found
    : undefined;
}

/** Tells whether a key may verify signatures of an algorithm. */
function fits({ key, alg }: PublicKey, algorithm: JwtAlgorithm): boolean {
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  const { type, curve } = KEY_TYPES[algorithm];
  return asymmetricKeyType === type &&
    asymmetricKeyDetails?.namedCurve === curve &&
    (alg === undefined || alg === algorithm);
}
