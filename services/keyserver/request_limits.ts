/**
 * How often who may ask: so many keys at once and a minute, by address.
 *
 * @module
 */

import { BoundedMap } from "../shared/bounded_map.ts";

interface Bucket {
  tokens: number;
  filledMs: number;
}

/** Callers that are remembered; who was seen longest ago begins with all tokens. */
const MAX_CALLERS = 20_000;
const MINUTE_MS = 60_000;

/** A bucket of tokens for each caller, which fills within a minute. */
export class RequestLimits {
  readonly #perMinute: number;
  readonly #buckets = new BoundedMap<string, Bucket>({
    maxEntries: MAX_CALLERS,
  });

  /** Limits of so many keys a minute. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /**
   * Takes the token that a request begins with.
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
   * Takes tokens for the further keys of a request that has begun. They may be
   * more than there are: then the next request waits for longer.
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
