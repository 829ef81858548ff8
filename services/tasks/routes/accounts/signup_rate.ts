/**
 * How many tenants an address may make.
 *
 * @module
 */

import { BoundedMap } from "../../../shared/bounded_map.ts";
import { addressGroup } from "../../../shared/ip_network.ts";

/** Addresses that are remembered at most. */
const MAX_ADDRESSES = 50_000;
const HOUR_MS = 3_600_000;

interface Bucket {
  readonly tokens: number;
  /** When `tokens` was right. */
  readonly atMs: number;
}

/** Whether an address may make a tenant now. */
export type SignupVerdict =
  | { readonly kind: "ok" }
  | {
    readonly kind: "over";
    /** When it may, in milliseconds from now. */
    readonly retryAfterMs: number;
  };

/** A token bucket for each address; an IPv6 address counts as its /64. */
export class SignupRate {
  readonly #perHour: number;
  readonly #buckets = new BoundedMap<string, Bucket>({
    maxEntries: MAX_ADDRESSES,
  });

  /** Lets each address make `perHour` tenants in an hour, and as many at once. */
  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** Takes one of an address's tenants. */
  take(address: string, nowMs: number): SignupVerdict {
    const name = addressGroup(address);
    const tokens = this.#tokens(name, nowMs);
    if (tokens < 1) {
      const retryAfterMs = (1 - tokens) * HOUR_MS / this.#perHour;
      return { kind: "over", retryAfterMs };
    }
    this.#buckets.set(name, { tokens: tokens - 1, atMs: nowMs });
    return { kind: "ok" };
  }

  /** Gives back what was taken for a tenant that was not made. */
  giveBack(address: string, nowMs: number): void {
    const name = addressGroup(address);
    const tokens = Math.min(this.#perHour, this.#tokens(name, nowMs) + 1);
    this.#buckets.set(name, { tokens, atMs: nowMs });
  }

  #tokens(name: string, nowMs: number): number {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return this.#perHour;
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    return Math.min(
      this.#perHour,
      bucket.tokens + passedMs * this.#perHour / HOUR_MS,
    );
  }
}
