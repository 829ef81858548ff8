/**
 * The interface by which parts of the service count, names of statistics, and
 * the counters of a rule.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** A number that only grows. */
export interface Counter {
  /** Adds `amount`, 1 when it is left out. */
  add(amount?: number): void;
}

/** A number that is set. */
export interface Gauge {
  /** Replaces the value. */
  set(value: number): void;
}

/** Durations that are recorded. */
export interface Timer {
  /** Records one duration in milliseconds. */
  record(durationMs: number): void;
}

/** Where a statistic of a rule comes from. */
export interface StatOrigin {
  /** The parts of its name: domain, levels, and what is counted. */
  readonly segments: readonly string[];
  /**
   * Path of the rule as configured, whose values the name may show; undefined
   * for a limit that came with a request.
   */
  readonly rule?: string | undefined;
}

/** Returns statistics by their full dotted name; one name, one object. */
export interface Stats {
  /** Returns the counter of a name; one of a rule has an origin. */
  counter(name: string, origin?: StatOrigin): Counter;
  /** Returns the gauge of a name. */
  gauge(name: string): Gauge;
  /** Returns the timer of a name. */
  timer(name: string): Timer;
}

/** The longest name of a statistic, in UTF-16 code units. */
export const maxStatNameLength = 512;

const hashLength = 16;

// `:` and `|` separate the fields of a statsd line; a control character or a
// line separator would end it.
const separators = /[:|\p{Cc}\p{Zl}\p{Zp}]/gu;

// Four or more short numbers in a row. Longer runs are replaced whole, so that
// a second pass finds nothing more to change.
const dottedNumbers = /(?<!\d)\d{1,3}(?:\.\d{1,3}){3,}(?!\d)/g;

const tagMark = /(^|\.)_{2,}/g;

/**
 * Makes `text` valid as a part of a name: `:`, `|`, control characters and line
 * separators become `_`, and so do the dots of IPv4 addresses; other dots stay.
 * Text that would read as a tag (`.__key=value`) loses its underscores, so that
 * a caller's value cannot add tags. Does not limit the length.
 */
export function statSegment(text: string): string {
  const clean = cleanText(text);
  return clean.includes("=") ? clean.replace(tagMark, "$1") : clean;
}

/**
 * Makes a whole dotted name valid: as {@linkcode statSegment}, but tags
 * (`.__key=value`) stay, and a name over `maxLength` code units is cut and ends
 * in a hash of the whole, so that two long names stay two.
 *
 * @param maxLength Longest result, at least 32.
 */
export function statName(
  name: string,
  maxLength: number = maxStatNameLength,
): string {
  const clean = cleanText(name);
  if (clean.length <= maxLength) return clean;
  const hash = createHash("sha256").update(clean).digest("hex")
    .slice(0, hashLength);
  const head = clean.slice(0, maxLength - hashLength - 1);
  return `${dropHalfPair(head)}_${hash}`;
}

function cleanText(text: string): string {
  return text.replace(separators, "_").replace(
    dottedNumbers,
    (run) => run.replaceAll(".", "_"),
  );
}

function dropHalfPair(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}

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

/** Finds the counters of a rule by its path. */
export interface RuleStatsCache {
  /**
   * Returns the counters of a path that has them, or those of `overflow` when
   * there is no room for more; undefined for a new path.
   */
  find(path: string): RuleStats | undefined;
  /**
   * Returns the counters of a path, as {@linkcode statPath} makes and bounds
   * it; one path, one object.
   *
   * @param rule Path of the rule that counts by this path.
   */
  forPath(path: string, rule?: string): RuleStats;
}

/** Settings of {@linkcode createRuleStatsCache}. */
interface RuleStatsCacheOptions {
  /**
   * Most paths that have their own counters; each takes seven names of the
   * registry.
   *
   * @default 10_000
   */
  readonly maxPaths?: number;
}

const prefix = "ratelimit.service.rate_limit.";
const longestEnding = ".over_limit_with_local_cache";
// Each part is cut on its own, and the path as a whole, but never the name: it
// always begins with the same domain and ends in what it counts.
const maxPathLength = maxStatNameLength - prefix.length - longestEnding.length;
const maxDomainLength = 128;
const maxLevelLength = 256;
const maxLevels = 32;
/** Room for the last level of a path that is cut. */
const restLength = 48;

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
  const find = (path: string): RuleStats | undefined =>
    byPath.get(path) ?? (byPath.size >= maxPaths ? overflow : undefined);
  return {
    find,
    forPath(path, rule) {
      const known = find(path);
      if (known !== undefined) return known;
      const made = ruleStats(stats, path, rule);
      byPath.set(path, made);
      return made;
    },
  };
}

/** Separates the parts of a path; no part contains it. */
const SEPARATOR = "\n";

/**
 * Makes a domain valid as a part of a name. A long one is cut and ends in a
 * hash of the whole, in the same way wherever it stands.
 */
export function statDomain(domain: string): string {
  return boundedPart(domain, maxDomainLength);
}

function boundedPart(text: string, maxLength: number): string {
  const part = statSegment(text);
  return part.length <= maxLength ? part : statName(part, maxLength);
}

/**
 * Returns the path of a rule's statistics: domain and levels, each made valid.
 * The parts are kept apart, as a part may have dots itself.
 *
 * A path is bounded, since it is kept for good and callers choose values: a
 * long part ends in a hash of the whole, and levels for which no room is left
 * are joined to one, which does so too. Whatever the levels are, the domain
 * and the first level are the same.
 */
export function statPath([domain = "", ...levels]: readonly string[]): string {
  const parts = [
    statDomain(domain),
    ...levels.map((level) => boundedPart(level, maxLevelLength)),
  ];
  const path = parts.join(SEPARATOR);
  return path.length <= maxPathLength && levels.length <= maxLevels
    ? path
    : cutPath(parts);
}

function cutPath(parts: readonly string[]): string {
  let path = parts[0]!;
  for (const [index, part] of parts.entries()) {
    if (index === 0) continue;
    const longer = path + SEPARATOR + part;
    const isLast = index === maxLevels ||
      longer.length > maxPathLength - SEPARATOR.length - restLength;
    if (!isLast) path = longer;
    else {
      const room = maxPathLength - path.length - SEPARATOR.length;
      return path + SEPARATOR + statName(parts.slice(index).join("."), room);
    }
  }
  return path;
}

/** Returns a path in the form it has in names: `‹domain›.‹key_value›…`. */
export function statPathText(path: string): string {
  return path.replaceAll(SEPARATOR, ".");
}

function ruleStats(stats: Stats, path: string, rule?: string): RuleStats {
  const text = prefix + statSegment(statPathText(path));
  const segments = path.split(SEPARATOR);
  const counter = (what: string): Counter =>
    stats.counter(`${text}.${what}`, { segments: [...segments, what], rule });
  return {
    totalHits: counter("total_hits"),
    overLimit: counter("over_limit"),
    nearLimit: counter("near_limit"),
    overLimitWithLocalCache: counter("over_limit_with_local_cache"),
    withinLimit: counter("within_limit"),
    shadowMode: counter("shadow_mode"),
    totalNegativeHits: counter("total_negative_hits"),
  };
}
