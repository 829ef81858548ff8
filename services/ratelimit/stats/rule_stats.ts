/**
 * The counters of each rule path, looked up once and then only added to.
 *
 * @module
 */

import { maxStatNameLength, statName, statSegment } from "./stat_name.ts";
import type { Counter, Stats } from "./stats.ts";

/** The counters of one rule path; all count hits. */
export interface RuleStats {
  /** All hits. */
  readonly totalHits: Counter;
  /** Hits beyond the limit. */
  readonly overLimit: Counter;
  /** Hits under the limit but above the near-limit ratio of it. */
  readonly nearLimit: Counter;
  /** Hits beyond the limit that the over-limit cache answered. */
  readonly overLimitWithLocalCache: Counter;
  /** Hits within the limit. */
  readonly withinLimit: Counter;
  /** Hits beyond the limit that shadow mode let pass. */
  readonly shadowMode: Counter;
  /** Hits that were given back. */
  readonly totalNegativeHits: Counter;
}

/** Finds the counters of rule paths. */
export interface RuleStatsCache {
  /**
   * The counters of the path `‹domain›.‹key_value›…`; one path, one object.
   * Parts that come from a caller should have gone through `statSegment` one
   * by one.
   */
  forPath(domainAndPath: string): RuleStats;
}

/** Settings of {@linkcode createRuleStatsCache}. */
export interface RuleStatsCacheOptions {
  /**
   * Most paths with counters of their own; each is seven names of the registry.
   *
   * @default 10_000
   */
  readonly maxPaths?: number;
}

const prefix = "ratelimit.service.rate_limit.";
const longestEnding = ".over_limit_with_local_cache";
// The path is cut, not the whole name, so that a long name still ends in what
// it counts.
const maxPathLength = maxStatNameLength - prefix.length - longestEnding.length;

/**
 * Makes a cache over `stats`. Paths beyond `maxPaths` share the counters of the
 * path `overflow`, which exist from the start, so that they have room in the
 * registry.
 *
 * @throws {RangeError} when `maxPaths` is not a whole number of at least 0.
 */
export function createRuleStatsCache(
  stats: Stats,
  options: RuleStatsCacheOptions = {},
): RuleStatsCache {
  const { maxPaths = 10_000 } = options;
  if (!Number.isSafeInteger(maxPaths) || maxPaths < 0) {
    throw new RangeError(
      `Cannot create a cache of rule statistics: maxPaths is "${maxPaths}", not a whole number of at least 0`,
    );
  }
  const byPath = new Map<string, RuleStats>();
  const overflow = ruleStats(stats, "overflow");
  return {
    forPath(domainAndPath) {
      // A key is kept for ever, so it may not be as long as a caller likes.
      const key = domainAndPath.length <= maxPathLength
        ? domainAndPath
        : statName(domainAndPath, maxPathLength);
      const known = byPath.get(key);
      if (known !== undefined) return known;
      if (byPath.size >= maxPaths) return overflow;
      const made = ruleStats(stats, key);
      byPath.set(key, made);
      return made;
    },
  };
}

function ruleStats(stats: Stats, rawPath: string): RuleStats {
  const path = prefix + statSegment(rawPath);
  return {
    totalHits: stats.counter(`${path}.total_hits`),
    overLimit: stats.counter(`${path}.over_limit`),
    nearLimit: stats.counter(`${path}.near_limit`),
    overLimitWithLocalCache: stats.counter(`${path}${longestEnding}`),
    withinLimit: stats.counter(`${path}.within_limit`),
    shadowMode: stats.counter(`${path}.shadow_mode`),
    totalNegativeHits: stats.counter(`${path}.total_negative_hits`),
  };
}
