/**
 * Requests to the rate limit service and its decisions, and how they are read
 * from its JSON.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";

/** One key with its value. */
export interface Entry {
  /** The key, such as `client_id`. */
  readonly key: string;
  /** The value; may be empty. */
  readonly value: string;
}

/** A list of entries that selects one rule. */
export interface Descriptor {
  /** The entries, outermost first. */
  readonly entries: readonly Entry[];
  /**
   * Hits to count; 0 reads the limit without counting.
   *
   * @default {1}
   */
  readonly hits?: number;
}

/** A request for a decision: is this within its limits? */
export interface RateLimitRequest {
  /** The domain whose rules apply. */
  readonly domain: string;
  /** The descriptors to check; each is counted on its own. */
  readonly descriptors: readonly Descriptor[];
}

/** The decision for one descriptor. */
export interface LimitStatus {
  /** True when this descriptor is within its limit. */
  readonly allowed: boolean;
  /**
   * The kind of rule that applied. `none` where no rule matches, where the one
   * that does sets no limit, and where another descriptor's rule replaces it:
   * the protocol does not tell these apart.
   */
  readonly rule: "limit" | "unlimited" | "none";
  /** The name that the rule gives its limit; undefined without one. */
  readonly name: string | undefined;
  /** Requests that remain in the window; undefined when no limit applied. */
  readonly remaining: number | undefined;
  /**
   * Requests that are allowed in one window; undefined when no limit applied.
   */
  readonly limit: number | undefined;
  /**
   * The length of that window; undefined when no limit applied. The service
   * tells it in units: a rule with a `window` of another length has that of the
   * nearest unit, unless `RESPONSE_DYNAMIC_METADATA` is true there.
   */
  readonly windowSeconds: number | undefined;
  /**
   * Seconds to the end of the window, or until a sliding window or token bucket
   * admits a request again; undefined when no limit applied.
   */
  readonly resetSeconds: number | undefined;
}

/** The answer to a {@linkcode RateLimitRequest}. */
export interface RateLimitDecision {
  /** True when all descriptors are within their limits. */
  readonly allowed: boolean;
  /** One status for each descriptor, in the order of the request. */
  readonly statuses: readonly LimitStatus[];
}

/**
 * Reads the answer of the service.
 *
 * @param status The HTTP status that it came with.
 * @returns The decision; undefined when the answer holds no decision.
 */
export function readDecision(
  body: unknown,
  status: number,
): RateLimitDecision | undefined {
  const { overallCode, statuses, dynamicMetadata }: Fields = isObject(body)
    ? body
    : { statuses: false };
  const isOver = overallCode === "OVER_LIMIT";
  const list = statuses ?? [];
  // A proxy may refuse requests with 429, too.
  if (!Array.isArray(list) || (status === 429 && !isOver)) {
    return undefined;
  }
  const told = Object(Object(dynamicMetadata).descriptors);
  return {
    allowed: !isOver,
    statuses: list.map((status, at) => readStatus(status, Object(told[at]))),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The number by which the service says that there is no limit. */
const UNLIMITED = 4_294_967_295;

/** Reads a status; `told` is what metadata tells of its descriptor. */
function readStatus(value: unknown, told: Fields): LimitStatus {
  const { code, currentLimit, limitRemaining, durationUntilReset }: Fields =
    Object(value);
  const allowed = code !== "OVER_LIMIT";
  if (!isObject(currentLimit)) {
    const rule = limitRemaining === UNLIMITED ? "unlimited" : "none";
    return { allowed, rule, ...NO_LIMIT };
  }
  const { requestsPerUnit, unit, name }: Fields = currentLimit;
  const limits: readonly Fields[] = Array.isArray(told["limits"])
    ? told["limits"].map(Object)
    : [];
  const exact = limits.find((one) =>
    one["requestsPerUnit"] === requestsPerUnit && one["name"] === name
  )?.["windowSeconds"];
  return {
    allowed,
    rule: "limit",
    name: typeof name === "string" ? name : undefined,
    remaining: readCount(limitRemaining),
    limit: readCount(requestsPerUnit),
    windowSeconds: typeof exact === "number"
      ? exact
      : UNIT_SECONDS[String(unit)],
    resetSeconds: parseSeconds(durationUntilReset),
  };
}

const NO_LIMIT = {
  name: undefined,
  remaining: undefined,
  limit: undefined,
  windowSeconds: undefined,
  resetSeconds: undefined,
} as const;

/** Lengths of the windows of units; months have 30 days, years 365. */
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: 86_400,
  WEEK: 604_800,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
};

/**
 * Returns an error text that names a descriptor to which no rule applied;
 * undefined when a rule applied to each.
 */
export function missingRule(
  { domain, descriptors }: RateLimitRequest,
  { statuses }: RateLimitDecision,
): string | undefined {
  const at = descriptors.findIndex((_, index) =>
    (statuses[index]?.rule ?? "none") === "none"
  );
  if (at === -1) return undefined;
  // Values are left out: they may be addresses and names of people.
  const keys = descriptors[at]!.entries.map(({ key }) => key).join(", ");
  return `Cannot decide: no rule of the domain ${JSON.stringify(domain)} is ` +
    `for descriptor ${at + 1}, of ${JSON.stringify(keys)}; add one, which ` +
    "may say unlimited: true, or correct the names";
}

/** Proto3 JSON leaves out fields whose value is 0. */
function readCount(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function parseSeconds(value: unknown): number | undefined {
  const seconds = /^(\d+)s$/.exec(String(value))?.[1];
  return seconds ? Number(seconds) : undefined;
}
