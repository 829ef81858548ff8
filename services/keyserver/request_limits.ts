/**
 * How often who may ask: so many requests at once and a minute, by address.
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

  /** Limits of so many requests a minute. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /**
   * Takes a token.
   *
   * @param nowMs By a clock that only goes forward.
   * @returns 0 when the caller may go on, else the milliseconds to wait.
   */
  take(caller: string, nowMs: number): number {
    const full = this.#perMinute;
    const bucket = this.#buckets.get(caller) ??
      { tokens: full, filledMs: nowMs };
    const gained = (nowMs - bucket.filledMs) * full / MINUTE_MS;
    bucket.tokens = Math.min(full, bucket.tokens + gained);
    bucket.filledMs = nowMs;
    this.#buckets.set(caller, bucket);
    if (bucket.tokens < 1) {
      return Math.ceil((1 - bucket.tokens) * MINUTE_MS / full);
    }
    bucket.tokens--;
    return 0;
  }
}
