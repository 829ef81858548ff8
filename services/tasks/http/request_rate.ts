/**
 * Limits how many requests a tenant may make in a second, and answers those
 * above the limit.
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

/** Most buckets that are kept. A bucket that was forgotten is full again. */
const MAX_BUCKETS = 100_000;
/** A bucket holds as many requests as come in so many seconds. */
const BURST_SECONDS = 2;
/** A bucket's debt is at most as many requests as come in so many seconds. */
const DEBT_SECONDS = 10;
/**
 * How many seconds' worth of a bucket's requests is reserved for parts, such as
 * API keys, that ask little.
 */
const RESERVE_SECONDS = 1 / 2;
/** A part that stays below this share of the rate counts as asking little. */
const LITTLE = 1 / 4;

interface Bucket {
  /** Requests that may come at once; below zero in debt. */
  tokens: number;
  /** The time of `tokens`, in milliseconds since the epoch. */
  atMs: number;
}

/** Whether a request may go on. */
type RateVerdict =
  | { readonly kind: "ok" }
  | { readonly kind: "over"; readonly retryAfterMs: number };

/** The request to be taken; see {@linkcode RequestRate.take}. */
interface TakeOptions {
  /** How many requests may come in a second. */
  readonly perSecond: number;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * The part of the name that asks, such as an API key of a tenant. Parts must
   * be unique across names.
   * @default no part: the request may use the whole bucket
   */
  readonly part?: string | undefined;
}

const OK: RateVerdict = { kind: "ok" };

/**
 * Token buckets: one for each name, such as a tenant, and one for each part of
 * a name, such as a key of the tenant. The last tokens of a name are reserved
 * for parts that ask little. So one part may use the whole rate while the
 * others do not ask, but cannot keep them out. Work that a request turns out to
 * cause is charged afterwards to the name and the part, whose tokens may fall
 * below zero.
 */
export class RequestRate {
  readonly #buckets = new BoundedMap<string, Bucket>({
    maxEntries: MAX_BUCKETS,
  });
  readonly #parts = new BoundedMap<string, Bucket>({ maxEntries: MAX_BUCKETS });
  /**
   * Buckets, by name, from which parts that ask little draw while the name is
   * in debt.
   */
  readonly #spares = new BoundedMap<string, Bucket>({
    maxEntries: MAX_BUCKETS,
  });

  /** Takes one token from the name's bucket, which fills by `perSecond`. */
  take(name: string, { perSecond, nowMs, part }: TakeOptions): RateVerdict {
    const bucket = this.#getBucket(name, { perSecond, nowMs });
    const own = part === undefined ? undefined : this.#getPartBucket(part, {
      perSecond,
      nowMs,
      owes: bucket.tokens < 0,
    });
    const asksLittle = own === undefined || own.tokens >= 1;
    const needed = asksLittle ? 1 : computeReserve(perSecond) + 1;
    if (bucket.tokens < needed) {
      // While the name is in debt, parts that ask little go on slowly.
      const spare = asksLittle && bucket.tokens < 0
        ? filled(this.#spares, name, toLittleBucket({ perSecond, nowMs }))
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
   * Charges tokens for work beyond the request itself. Name and part go into
   * debt when they have too few tokens, up to ten seconds' worth.
   */
  charge(
    name: string,
    tokens: number,
    { perSecond, nowMs, part }: TakeOptions,
  ): void {
    const least = -Math.max(1, perSecond * DEBT_SECONDS);
    const bucket = this.#getBucket(name, { perSecond, nowMs });
    bucket.tokens = Math.max(least, bucket.tokens - tokens);
    if (part === undefined) return;
    const owes = bucket.tokens < 0;
    const own = this.#getPartBucket(part, { perSecond, nowMs, owes });
    own.tokens = Math.max(least, own.tokens - tokens);
  }

  /**
   * The bucket of a part, which has tokens as long as the part asks little. A
   * part in debt regains no tokens while its name is in debt: otherwise many
   * parts in turn would get many times the rate.
   */
  #getPartBucket(
    part: string,
    { perSecond, nowMs, owes }: Pick<TakeOptions, "perSecond" | "nowMs"> & {
      readonly owes: boolean;
    },
  ): Bucket {
    const known = this.#parts.get(part);
    if (!owes || known === undefined || known.tokens >= 0) {
      return filled(this.#parts, part, toLittleBucket({ perSecond, nowMs }));
    }
    known.atMs = nowMs;
    return known;
  }

  #getBucket(
    name: string,
    { perSecond, nowMs }: Pick<TakeOptions, "perSecond" | "nowMs">,
  ): Bucket {
    return filled(this.#buckets, name, {
      perSecond,
      // A rate below one request in two seconds still lets one request through.
      capacity: Math.max(1, perSecond * BURST_SECONDS),
      nowMs,
    });
  }
}

/** The rate and capacity of a bucket for parts that ask little. */
function toLittleBucket(
  { perSecond, nowMs }: Pick<TakeOptions, "perSecond" | "nowMs">,
): { perSecond: number; capacity: number; nowMs: number } {
  return {
    perSecond: perSecond * LITTLE,
    capacity: Math.max(1, computeReserve(perSecond)),
    nowMs,
  };
}

function computeReserve(perSecond: number): number {
  return Math.floor(perSecond * RESERVE_SECONDS);
}

/** The bucket of a name with its tokens as of now; a new bucket is full. */
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

/** Options of {@linkcode RequestRates}. */
interface RequestRatesOptions {
  /** The time. */
  readonly clock: Clock;
  /** Logs requests that are refused. */
  readonly logger: Logger;
  /**
   * How many instances of the service share out the rates.
   *
   * @default one
   */
  readonly liveInstances?: () => number;
}

/**
 * Limits the requests of each tenant to the rate of its plan. Unauthenticated
 * requests are counted by their address instead, and cost the tenant nothing.
 *
 * Instances count by themselves, since a count in the store would cost each
 * request a write. So each gives the rate divided by the number of instances,
 * and all together give what the plan says to clients that use them evenly.
 */
export class RequestRates {
  readonly #options: RequestRatesOptions;
  readonly #tenants = new RequestRate();
  readonly #strangers = new RequestRate();

  /** Nothing is counted yet. */
  constructor(options: RequestRatesOptions) {
    this.#options = options;
  }

  /**
   * The problem of a request above the limit; undefined when the request may go
   * on.
   */
  refusal(
    { tenant, limits, origin }: Incoming,
    admission: Admission,
  ): ProblemAnswer | undefined {
    const ofPlan = limits?.requestsPerSecond;
    if (tenant === undefined || typeof ofPlan !== "number") return undefined;
    const instances = this.#instances();
    const perSecond = ofPlan / instances;
    const nowMs = this.#options.clock.nowMs();
    const address = origin.clientAddress ?? "";
    const isOwn = isOfTenant(admission);
    const verdict = isOwn
      ? this.#tenants.take(tenant.id, {
        perSecond,
        nowMs,
        part: pickPart(admission),
      })
      // No id has a line feed, so ids and addresses cannot be confused.
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
    const here = instances > 1
      ? `; this is one of ${instances} instances, which share them out`
      : "";
    return problem("rate_limited", {
      detail: isOwn
        ? `Cannot answer: the plan allows ${ofPlan} requests a second${here}`
        : `Cannot answer: ${ofPlan} requests a second that show no valid ` +
          `credentials are answered from one address${here}`,
      retryAfterMs,
      headers: {
        "ratelimit-policy": `"${policy}";q=${ofPlan};w=1`,
        "ratelimit": `"${policy}";r=0;t=${Math.ceil(retryAfterMs / 1_000)}`,
      },
    });
  }

  /** How many instances there are; this one at least. */
  #instances(): number {
    return Math.max(1, this.#options.liveInstances?.() ?? 1);
  }

  /**
   * Counts work beyond the request itself as further requests, which delay the
   * tenant's next ones. `isOfTenant` has to be asked before the request is
   * answered: a lease that has ended is no longer known.
   */
  charge(
    { tenant, limits }: Pick<Incoming, "tenant" | "limits">,
    admission: Admission,
    cost: RequestCost,
  ): void {
    const ofPlan = limits?.requestsPerSecond;
    if (tenant === undefined || typeof ofPlan !== "number") return;
    const perSecond = ofPlan / this.#instances();
    const further = furtherRequests(cost);
    if (further === 0) return;
    this.#tenants.charge(tenant.id, further, {
      perSecond,
      nowMs: this.#options.clock.nowMs(),
      part: pickPart(admission),
    });
  }
}

/** The work of a request beyond the request itself. */
interface RequestCost {
  /** How many tasks the request acted on. */
  readonly tasks: number;
  /** How long the request used the serving thread, in milliseconds. */
  readonly usedMs: number;
}

/** Tasks that count as one request. */
const TASKS_OF_REQUEST = 10;
/** Milliseconds that count as one request. */
const MS_OF_REQUEST = 10;

/** How many further requests the work of a request counts as. */
function furtherRequests({ tasks, usedMs }: RequestCost): number {
  const least = Math.ceil(tasks / TASKS_OF_REQUEST) - 1;
  return Math.max(0, least, Math.floor(usedMs / MS_OF_REQUEST));
}

/**
 * The part of the tenant that a request counts for: the caller's credential.
 * Lease holders have none.
 */
function pickPart(admission: Admission): string | undefined {
  return admission.kind === "ok"
    ? findCredentialId(admission.caller)
    : undefined;
}

function findCredentialId(caller: Caller | undefined): string | undefined {
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
