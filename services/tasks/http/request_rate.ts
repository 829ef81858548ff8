/**
 * How many requests may come in a second, and what those that are too many are
 * answered.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import type { Caller } from "../access/caller.ts";
import { type Admission, isOfTenant } from "./admission.ts";
import type { Incoming } from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** Buckets that are kept at most; one that is forgotten is full again. */
const MAX_BUCKETS = 100_000;
/** How many seconds' worth of requests may come at once. */
const BURST_SECONDS = 2;
/** How many seconds' worth of requests is owed at most. */
const DEBT_SECONDS = 10;
/** How many seconds' worth of them is kept for parts that ask little. */
const RESERVE_SECONDS = 1 / 2;
/** A part that stays below this share of the rate asks little. */
const LITTLE = 1 / 4;

interface Bucket {
  /** Requests that may come at once. */
  tokens: number;
  /** When `tokens` was right. */
  atMs: number;
}

/** The outcome of asking for a request. */
type RateVerdict =
  | { readonly kind: "ok" }
  | { readonly kind: "over"; readonly retryAfterMs: number };

/** How requests are taken; see {@linkcode RequestRate.take}. */
interface TakeOptions {
  /** How many requests may come in a second. */
  readonly perSecond: number;
  /** The time. */
  readonly nowMs: number;
  /**
   * Which part of the name asks, such as a key of a tenant; no other name has a
   * part of that name.
   * @default none: it may have all
   */
  readonly part?: string | undefined;
}

const OK: RateVerdict = { kind: "ok" };

/**
 * A token bucket for each name, and one for each of its parts. The last tokens
 * of a name are kept for parts that ask little. So one part may use the whole
 * rate as long as the others do not ask, and cannot keep them out. What a request
 * did beyond asking is owed by the name and by the part that asked: tokens below
 * zero.
 */
export class RequestRate {
  readonly #buckets = new BoundedMap<string, Bucket>({
    maxEntries: MAX_BUCKETS,
  });
  readonly #parts = new BoundedMap<string, Bucket>({ maxEntries: MAX_BUCKETS });
  /** What parts that ask little may have while their name is in debt. */
  readonly #spares = new BoundedMap<string, Bucket>({
    maxEntries: MAX_BUCKETS,
  });

  /** Takes a token of a bucket that fills by `perSecond`. */
  take(name: string, { perSecond, nowMs, part }: TakeOptions): RateVerdict {
    const bucket = this.#bucketOf(name, { perSecond, nowMs });
    const own = part === undefined
      ? undefined
      : this.#partOf(part, { perSecond, nowMs, owes: bucket.tokens < 0 });
    const asksLittle = own === undefined || own.tokens >= 1;
    const needed = asksLittle ? 1 : reserveOf(perSecond) + 1;
    if (bucket.tokens < needed) {
      // While others of the name are in debt, those that ask little go on slowly.
      const spare = asksLittle && bucket.tokens < 0
        ? filled(this.#spares, name, littleOf({ perSecond, nowMs }))
        : undefined;
      if (spare === undefined || spare.tokens < 1) {
        return over(needed, { bucket, perSecond });
      }
      spare.tokens--;
    }
    bucket.tokens--;
    if (own !== undefined) {
      own.tokens = Math.min(own.tokens, Math.max(0, own.tokens - 1));
    }
    return OK;
  }

  /**
   * Takes tokens for what turned out to be more than a request. The name owes
   * those that are not there, and so does the part, ten seconds' worth at most.
   */
  charge(
    name: string,
    tokens: number,
    { perSecond, nowMs, part }: TakeOptions,
  ): void {
    const least = -Math.max(1, perSecond * DEBT_SECONDS);
    const bucket = this.#bucketOf(name, { perSecond, nowMs });
    bucket.tokens = Math.max(least, bucket.tokens - tokens);
    if (part === undefined) return;
    const owes = bucket.tokens < 0;
    const own = this.#partOf(part, { perSecond, nowMs, owes });
    own.tokens = Math.max(least, own.tokens - tokens);
  }

  /**
   * What is left to a part that asks little. One in debt pays nothing back while
   * its name owes: else many parts in turn would have many times the rate.
   */
  #partOf(
    part: string,
    { perSecond, nowMs, owes }: Pick<TakeOptions, "perSecond" | "nowMs"> & {
      readonly owes: boolean;
    },
  ): Bucket {
    const known = this.#parts.get(part);
    if (!owes || known === undefined || known.tokens >= 0) {
      return filled(this.#parts, part, littleOf({ perSecond, nowMs }));
    }
    known.atMs = nowMs;
    return known;
  }

  #bucketOf(
    name: string,
    { perSecond, nowMs }: Pick<TakeOptions, "perSecond" | "nowMs">,
  ): Bucket {
    return filled(this.#buckets, name, {
      perSecond,
      // A rate below one in two seconds lets one through as well.
      capacity: Math.max(1, perSecond * BURST_SECONDS),
      nowMs,
    });
  }
}

/** A bucket for who asks little. */
function littleOf(
  { perSecond, nowMs }: Pick<TakeOptions, "perSecond" | "nowMs">,
): { perSecond: number; capacity: number; nowMs: number } {
  return {
    perSecond: perSecond * LITTLE,
    capacity: Math.max(1, reserveOf(perSecond)),
    nowMs,
  };
}

function reserveOf(perSecond: number): number {
  return Math.floor(perSecond * RESERVE_SECONDS);
}

/** The bucket of a name as it is now; a new one is full. */
function filled(
  buckets: BoundedMap<string, Bucket>,
  name: string,
  { perSecond, capacity, nowMs }: {
    readonly perSecond: number;
    readonly capacity: number;
    readonly nowMs: number;
  },
): Bucket {
  const bucket = buckets.get(name);
  if (bucket === undefined) {
    const full = { tokens: capacity, atMs: nowMs };
    buckets.set(name, full);
    return full;
  }
  const passedMs = Math.max(0, nowMs - bucket.atMs);
  bucket.tokens = Math.min(
    capacity,
    bucket.tokens + passedMs * perSecond / 1_000,
  );
  bucket.atMs = nowMs;
  return bucket;
}

function over(
  tokens: number,
  { bucket, perSecond }: {
    readonly bucket: Bucket;
    readonly perSecond: number;
  },
): RateVerdict {
  const retryAfterMs = (tokens - bucket.tokens) / perSecond * 1_000;
  return { kind: "over", retryAfterMs };
}

/** What requests are counted with. */
interface RequestRatesOptions {
  /** The time. */
  readonly clock: Clock;
  /** Hears of those that are refused. */
  readonly logger: Logger;
}

/**
 * Counts the requests of tenants, as many a second as their plans allow. What
 * strangers ask of a tenant is counted by their address and costs the tenant
 * nothing.
 */
export class RequestRates {
  readonly #options: RequestRatesOptions;
  readonly #tenants = new RequestRate();
  readonly #strangers = new RequestRate();

  /** Has counted nothing yet. */
  constructor(options: RequestRatesOptions) {
    this.#options = options;
  }

  /** The problem of a request that is one too many; undefined when it is not. */
  refusal(
    { tenant, limits, origin }: Incoming,
    admission: Admission,
  ): ProblemAnswer | undefined {
    const perSecond = limits?.requestsPerSecond;
    if (tenant === undefined || typeof perSecond !== "number") return undefined;
    const nowMs = this.#options.clock.nowMs();
    const address = origin.clientAddress ?? "";
    const isOwn = isOfTenant(admission);
    const verdict = isOwn
      ? this.#tenants.take(tenant.id, {
        perSecond,
        nowMs,
        part: partOf(admission),
      })
      // No id holds a line feed.
      : this.#strangers.take(`${tenant.id}\n${addressGroup(address)}`, {
        perSecond,
        nowMs,
      });
    if (verdict.kind === "ok") return undefined;
    const { retryAfterMs } = verdict;
    this.#options.logger.debug("Too many requests of a tenant", {
      tenant: tenant.id,
      client: address,
      admitted: isOwn,
    });
    const policy = isOwn ? "plan" : "address";
    return problem("rate_limited", {
      detail: isOwn
        ? `Cannot answer: the plan allows ${perSecond} requests a second`
        : `Cannot answer: ${perSecond} requests a second that show no valid ` +
          "credentials are answered from one address",
      retryAfterMs,
      headers: {
        "ratelimit-policy": `"${policy}";q=${perSecond};w=1`,
        "ratelimit": `"${policy}";r=0;t=${Math.ceil(retryAfterMs / 1_000)}`,
      },
    });
  }

  /**
   * Counts what a request of a tenant did as further ones, which have to be waited
   * for before the next. Whether it is the tenant's is to be asked before it is
   * answered: a lease that is over is known no longer.
   */
  charge(
    { tenant, limits }: Pick<Incoming, "tenant" | "limits">,
    admission: Admission,
    cost: RequestCost,
  ): void {
    const perSecond = limits?.requestsPerSecond;
    if (tenant === undefined || typeof perSecond !== "number") return;
    const further = furtherRequests(cost);
    if (further === 0) return;
    this.#tenants.charge(tenant.id, further, {
      perSecond,
      nowMs: this.#options.clock.nowMs(),
      part: partOf(admission),
    });
  }
}

/** What a request did beyond asking. */
interface RequestCost {
  /** To how many tasks it did something. */
  readonly tasks: number;
  /** How long it held the thread that serves, in milliseconds. */
  readonly usedMs: number;
}

/** Tasks that count as one request. */
const TASKS_OF_REQUEST = 10;
/** Milliseconds that count as one request. */
const MS_OF_REQUEST = 10;

/** How many requests a request counts as beside itself. */
function furtherRequests({ tasks, usedMs }: RequestCost): number {
  const least = Math.ceil(tasks / TASKS_OF_REQUEST) - 1;
  return Math.max(0, least, Math.floor(usedMs / MS_OF_REQUEST));
}

/** The credential that a request came with; holders of leases have none. */
function partOf(admission: Admission): string | undefined {
  return admission.kind === "ok" ? credentialOf(admission.caller) : undefined;
}

function credentialOf(caller: Caller | undefined): string | undefined {
  switch (caller?.kind) {
    case "api_key":
      return caller.keyId;
    case "user":
      return caller.userId;
    case "worker":
      return caller.credentialId;
    default:
      return undefined;
  }
}
