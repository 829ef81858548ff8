/**
 * Rule configurations as plain values: files and discovery messages are turned
 * into these before they are checked and compiled.
 *
 * @module
 */

import type { JsonObject } from "../../../proto/struct.ts";

/** A place within a configuration: `["descriptors", 0, "rate_limit"]`. */
export type ConfigPath = readonly (string | number)[];

/** The `rate_limit` block of a descriptor, or an item of `rate_limits`. */
export interface RateLimitConfig {
  /** The unit as written; empty when it is missing. */
  readonly unit: string;
  /**
   * Length of the window as written, in place of a unit.
   *
   * @default none
   */
  readonly window?: string | undefined;
  /** Requests allowed in one unit; 0 blocks all. */
  readonly requestsPerUnit: number;
  /**
   * Algorithm by which the rule counts, as written; empty for the fixed window.
   */
  readonly algorithm: string;
  /** Requests that a full token bucket holds; undefined when not written. */
  readonly burst: number | undefined;
  /** True when the rule has no limit. */
  readonly unlimited: boolean;
  /**
   * Name by which another rule may replace this one; empty when it has no name.
   */
  readonly name: string;
  /** Names of the rules that this rule replaces. */
  readonly replaces: readonly string[];
  /**
   * True when this limit alone never refuses; the descriptor's own word is for
   * all its limits.
   *
   * @default {false}
   */
  readonly shadowMode?: boolean;
}

/** One item of a `descriptors` list. */
export interface DescriptorConfig {
  /** The key that an entry must have. */
  readonly key: string;
  /** The value that an entry must have; empty matches every value. */
  readonly value: string;
  /** The limit, when the descriptor sets one. */
  readonly rateLimit?: RateLimitConfig | undefined;
  /**
   * Further limits, which count beside that one; the strictest answers.
   *
   * @default none
   */
  readonly rateLimits?: readonly RateLimitConfig[] | undefined;
  /** True when the decision by this rule is always OK. */
  readonly shadowMode: boolean;
  /**
   * True when the rule is a quota: it refuses only when all quotas of a call
   * are used up.
   */
  readonly quotaMode: boolean;
  /** True when statistics are kept for each value that was matched. */
  readonly detailedMetric: boolean;
  /** True when the statistics path shows the request's value at this level. */
  readonly valueToMetric: boolean;
  /** True when all values that match the wildcard share one counter. */
  readonly shareThreshold: boolean;
  /** Metadata that the proxy gets when the rule matched. */
  readonly metadata?: JsonObject | undefined;
  /** The descriptors of the next level. */
  readonly descriptors: readonly DescriptorConfig[];
  /**
   * The line where the descriptor begins, counted from 1; undefined when
   * unknown.
   */
  readonly line?: number | undefined;
}

/** A limit of a descriptor, and its place below the descriptor. */
interface PlacedLimit {
  /** The limit. */
  readonly limit: RateLimitConfig;
  /** Its place. */
  readonly at: ConfigPath;
}

/** Returns all limits of a descriptor, `rate_limit` first. */
export function listLimits(
  { rateLimit, rateLimits }: DescriptorConfig,
): readonly PlacedLimit[] {
  const first = rateLimit === undefined
    ? NO_LIMITS
    : [{ limit: rateLimit, at: AT_RATE_LIMIT }];
  return rateLimits === undefined ? first : [
    ...first,
    ...rateLimits.map((limit, index) => ({
      limit,
      at: ["rate_limits", index],
    })),
  ];
}

// Of ten thousand descriptors nearly all have one limit or none.
const NO_LIMITS: readonly PlacedLimit[] = [];
const AT_RATE_LIMIT: ConfigPath = ["rate_limit"];

/** True when a descriptor sets a limit or is unlimited. */
export function isLimited(
  { rateLimit, rateLimits = [] }: {
    /** The limit by `rate_limit`. */
    readonly rateLimit?: unknown;
    /** The limits by `rate_limits`. */
    readonly rateLimits?: readonly unknown[] | undefined;
  },
): boolean {
  return rateLimit !== undefined || rateLimits.length > 0;
}

/** One file, or one resource of a discovery server. */
export interface DomainConfig {
  /** Name of the file or resource, for messages. */
  readonly name: string;
  /** The domain; empty when it is missing. */
  readonly domain: string;
  /** The descriptors of the top level. */
  readonly descriptors: readonly DescriptorConfig[];
  /**
   * False when a call that one limit refuses is not counted by the others.
   *
   * @default {true}
   */
  readonly countWhenLimited?: boolean | undefined;
  /** Returns the line of a place, counted from 1; undefined when unknown. */
  readonly findLine: (path: ConfigPath) => number | undefined;
}

/** One fault or warning, with all that is known of its place. */
export interface ConfigFault {
  /** Name of the file or resource. */
  readonly file: string;
  /** Line, counted from 1; undefined when unknown. */
  readonly line: number | undefined;
  /** Place within the document; empty for the document itself. */
  readonly path: ConfigPath;
  /** What is wrong. */
  readonly reason: string;
}

/**
 * Returns the fault as `basic.yaml:12: <reason> at descriptors[0].rate_limit`.
 */
export function formatConfigFault(fault: ConfigFault): string {
  const place = fault.line === undefined
    ? fault.file
    : `${fault.file}:${fault.line}`;
  const path = formatConfigPath(fault.path);
  return `${place}: ${fault.reason}${path === "" ? "" : ` at ${path}`}`;
}

/** Returns the path as `descriptors[0].rate_limit.unit`. */
function formatConfigPath(path: ConfigPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}
