/**
 * Rate limits by name, such as a client's address: how many tokens each may
 * take at once and in a period.
 *
 * @module
 */

import { BoundedMap } from "./bounded_map.ts";

interface Bucket {
  readonly tokens: number;
  /** The time of `tokens`. */
  readonly atMs: number;
}

interface TokenBucketsOptions {
  /** How many tokens a bucket holds and gets in a period. */
  readonly perPeriod: number;
  /** How long a period is. */
  readonly periodMs: number;
  /**
   * Most names that have a bucket; the one that was seen longest ago is
   * evicted, and begins with a full bucket again.
   */
  readonly maxNames: number;
}

/** A token bucket for each name; an empty bucket is full after a period. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions;
  readonly #buckets: BoundedMap<string, Bucket>;

  /** Makes buckets that are full. */
  constructor(options: TokenBucketsOptions) {
    this.#options = options;
    this.#buckets = new BoundedMap({ maxEntries: options.maxNames });
  }

  /**
   * Takes a token, or several at once.
   *
   * @param nowMs By a clock; when it goes back, nothing is gained.
   * @param wanted How many tokens; a bucket never has more than `perPeriod`.
   * @returns 0 when the name had them, else the milliseconds until it does
   */
  take(name: string, nowMs: number, wanted = 1): number {
    const { perPeriod, periodMs } = this.#options;
    const tokens = this.#tokens(name, nowMs);
    if (tokens < wanted) {
      return Math.ceil((wanted - tokens) * periodMs / perPeriod);
    }
    this.#buckets.set(name, { tokens: tokens - wanted, atMs: nowMs });
    return 0;
  }

  /**
   * Takes more tokens, or gives some back when `tokens` is negative. The bucket
   * may go below zero, so that the next take waits longer.
   */
  takeMore(name: string, tokens: number, nowMs: number): void {
    const left = this.#tokens(name, nowMs) - tokens;
    this.#buckets.set(name, {
      tokens: Math.min(this.#options.perPeriod, left),
      atMs: nowMs,
    });
  }

  #tokens(name: string, nowMs: number): number {
    const { perPeriod, periodMs } = this.#options;
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return perPeriod;
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    return Math.min(perPeriod, bucket.tokens + passedMs * perPeriod / periodMs);
  }
}
