/**
 * Rate limits of the key server: how many keys an address may ask for, at once
 * and a minute.
 *
 * @module
 */

import { BoundedMap } from "../shared/bounded_map.ts";

interface Bucket {
  tokens: number;
  filledMs: number;
}

/**
 * Most callers that have a bucket; the one that was seen longest ago is
 * evicted, and begins with a full bucket again.
 */
const MAX_CALLERS = 20_000;
const MINUTE_MS = 60_000;

/**
 * A token bucket for each caller; an empty bucket is full again after a minute.
 */
export class RequestLimits {
  readonly #perMinute: number;
  readonly #buckets = new BoundedMap<string, Bucket>({
    maxEntries: MAX_CALLERS,
  });

  /** Makes limits of this many keys a minute for each caller. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /**
   * Takes the token of a request's first key.
   *
   * @param nowMs By a clock that only goes forward.
   * @returns 0 when the caller may go on, else the milliseconds to wait.
   */
  take(caller: string, nowMs: number): number {
    const bucket = this.#filled(caller, nowMs);
    if (bucket.tokens < 1) {
      return Math.ceil((1 - bucket.tokens) * MINUTE_MS / this.#perMinute);
    }
    bucket.tokens--;
    return 0;
  }

  /**
   * Takes tokens for the further keys of a request that has begun. The bucket
   * may go below zero: then the next request waits longer.
   */
  takeMore(caller: string, tokens: number, nowMs: number): void {
    this.#filled(caller, nowMs).tokens -= tokens;
  }

  #filled(caller: string, nowMs: number): Bucket {
    const full = this.#perMinute;
    const bucket = this.#buckets.get(caller) ??
      { tokens: full, filledMs: nowMs };
    const gained = (nowMs - bucket.filledMs) * full / MINUTE_MS;
    bucket.tokens = Math.min(full, bucket.tokens + gained);
    bucket.filledMs = nowMs;
    this.#buckets.set(caller, bucket);
    return bucket;
  }
}
