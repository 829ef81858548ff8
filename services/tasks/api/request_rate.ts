/**
 * How many requests a tenant may make in a second.
 *
 * @module
 */

/** Tenants whose buckets are kept at most. */
const MAX_BUCKETS = 100_000;
/** How many seconds' worth of requests may come at once. */
const BURST_SECONDS = 2;

interface Bucket {
  /** Requests that may come at once. */
  tokens: number;
  /** When `tokens` was right. */
  atMs: number;
}

/** What asking for a request comes to. */
export type RateVerdict =
  | { readonly kind: "ok" }
  | { readonly kind: "over"; readonly retryAfterMs: number };

/** A token bucket for each name: a tenant, or a key of one. */
export class RequestRate {
  readonly #buckets = new Map<string, Bucket>();

  /** Takes a token of a bucket that fills by `perSecond`. */
  take(
    name: string,
    { perSecond, nowMs }: {
      readonly perSecond: number;
      readonly nowMs: number;
    },
  ): RateVerdict {
    const capacity = perSecond * BURST_SECONDS;
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = { tokens: capacity, atMs: nowMs };
      this.#makeRoom();
      this.#buckets.set(name, bucket);
    }
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(
      capacity,
      bucket.tokens + passedMs * perSecond / 1_000,
    );
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) {
      const missing = 1 - bucket.tokens;
      return { kind: "over", retryAfterMs: missing / perSecond * 1_000 };
    }
    bucket.tokens--;
    return { kind: "ok" };
  }

  #makeRoom(): void {
    if (this.#buckets.size < MAX_BUCKETS) return;
    const oldest = this.#buckets.keys().next().value;
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
