/**
 * Checks configurations: single descriptors, with faults in the order in which
 * they are reported, and rules that no request can reach.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { ALGORITHM_WORDS, algorithmOfWord } from "./algorithm.ts";
import {
  type ConfigFault,
  type ConfigPath,
  type DescriptorConfig,
  type DomainConfig,
  isLimited,
  listLimits,
  type RateLimitConfig,
} from "./config.ts";
import { formatKeyValue } from "./snapshot.ts";
import {
  parseWindow,
  toWindowSeconds,
  UNIT_WORDS,
  unitOfWord,
} from "./unit.ts";
import { Wildcard, WildcardSet } from "./wildcard.ts";

/** Takes a fault of a descriptor: the place below it, and what is wrong. */
type TakeFault = (at: ConfigPath, reason: string) => void;

/** Reports all faults of a descriptor itself, without those nested in it. */
export function checkDescriptor(
  descriptor: DescriptorConfig,
  options: {
    /**
     * The descriptor's path, when its level has the same key and value already.
     */
    readonly duplicatePath: string | undefined;
    /** True when algorithms other than the fixed window are refused. */
    readonly onlyFixedWindow: boolean;
    /** Takes each fault. */
    readonly fault: TakeFault;
  },
): void {
  const { key, value } = descriptor;
  const { fault } = options;
  if (key === "") fault([], "descriptor has empty key");
  if (options.duplicatePath !== undefined) {
    fault(
      ["key"],
      `duplicate descriptor composite key '${options.duplicatePath}'`,
    );
  }
  const limits = listLimits(descriptor);
  for (const { limit, at } of limits) {
    const below: TakeFault = (path, reason) => fault([...at, ...path], reason);
    checkRateLimit(limit, below);
    checkAlgorithm(limit, {
      onlyFixedWindow: options.onlyFixedWindow,
      fault: below,
    });
  }
  if (limits.length > 1) checkTogether(limits, fault);
  if (descriptor.shareThreshold && !value.includes("*")) {
    const reason = "share_threshold can only be used with wildcard values " +
      `(containing '*'), but found key '${formatKeyValue(descriptor)}'`;
    fault(["share_threshold"], reason);
  }
}

const NO_WORDS: readonly string[] = [];

/**
 * Returns the words of a descriptor that are set, and have an effect only
 * beside a limit, which it lacks. Programs write all words of every descriptor,
 * so `false` does not count.
 */
export function idleWords(
  words:
    & Parameters<typeof isLimited>[0]
    & Pick<
      DescriptorConfig,
      "shadowMode" | "quotaMode" | "detailedMetric" | "metadata"
    >,
): readonly string[] {
  if (isLimited(words)) return NO_WORDS;
  return [
    ["shadow_mode", words.shadowMode],
    ["quota_mode", words.quotaMode],
    ["detailed_metric", words.detailedMetric],
    ["metadata", words.metadata !== undefined],
  ].flatMap(([word, isSet]) => isSet === true ? String(word) : []);
}

function checkRateLimit(limit: RateLimitConfig, fault: TakeFault): void {
  const { unit, window, unlimited } = limit;
  const isUnit = unitOfWord(unit) !== undefined;
  if (window !== undefined) checkWindow(window, { limit, fault });
  else if (!unlimited && !isUnit) {
    const reason = `invalid rate limit unit '${unit}', expected ` +
      `one of ${UNIT_WORDS.join(", ")}, or window: 15m in its place`;
    fault(["unit"], reason);
  }
  if (unlimited && isUnit) {
    const reason = "should not specify rate limit unit when unlimited";
    fault(["unit"], reason);
  }
  for (let index = 0; index < limit.replaces.length; index++) {
    const name = limit.replaces[index];
    const at = ["replaces", index];
    if (name === "") fault(at, "should not have an empty replaces entry");
    else if (name === limit.name) {
      fault(at, "replaces should not contain name of same descriptor");
    }
  }
}

function checkWindow(
  window: string,
  { limit: { unit, unlimited }, fault }: {
    readonly limit: RateLimitConfig;
    readonly fault: TakeFault;
  },
): void {
  const reason = unlimited
    ? "should not specify window when unlimited"
    : unit !== ""
    ? "window stands in place of unit: take one of the two out"
    : parseWindow(window) === undefined
    ? `invalid window '${window}', expected whole seconds up to 366 days, ` +
      "such as 90s, 15m, 1h30m or 7d"
    : undefined;
  if (reason !== undefined) fault(["window"], reason);
}

/** Reports limits of one descriptor that can't count beside each other. */
function checkTogether(
  limits: ReturnType<typeof listLimits>,
  fault: TakeFault,
): void {
  const known = new Set<string>();
  for (const { limit, at } of limits) {
    if (limit.unlimited) {
      fault(at, "should not specify rate_limits when unlimited");
    }
    const { name } = limit;
    const counter = `${toWindowSeconds(limit)} ${
      algorithmOfWord(limit.algorithm)
    }`;
    if (known.has(counter)) {
      fault(
        at,
        "two limits of one descriptor have the same window and algorithm: " +
          "only the lower one would matter",
      );
    }
    known.add(counter);
    if (name === "") continue;
    if (known.has(`name ${name}`)) {
      fault(
        [...at, "name"],
        `two limits of one descriptor are named '${name}'`,
      );
    }
    known.add(`name ${name}`);
  }
}

function checkAlgorithm(
  rateLimit: RateLimitConfig,
  { onlyFixedWindow, fault }: {
    readonly onlyFixedWindow: boolean;
    readonly fault: TakeFault;
  },
): void {
  const { algorithm: word, burst, requestsPerUnit, unlimited } = rateLimit;
  if (word === "" && burst === undefined) return;
  const atAlgorithm = ["algorithm"];
  const atBurst = ["burst"];
  if (unlimited) {
    const reason = (what: string): string =>
      `should not specify ${what} when unlimited`;
    if (word !== "") fault(atAlgorithm, reason("algorithm"));
    if (burst !== undefined) fault(atBurst, reason("burst"));
    return;
  }
  const algorithm = algorithmOfWord(word);
  if (algorithm === undefined) {
    const near = nearest(word, ALGORITHM_WORDS);
    const reason = `unknown algorithm '${word}', ` +
      (near === undefined
        ? `expected one of ${ALGORITHM_WORDS.join(", ")}`
        : `did you mean '${near}'`);
    return fault(atAlgorithm, reason);
  }
  if (onlyFixedWindow && algorithm !== "fixed_window") {
    const reason = `algorithm '${algorithm}' needs exact counters, which ` +
      "BACKEND_TYPE=altcache does not have; take the algorithm out, or set " +
      "BACKEND_TYPE to kvstore or memory";
    return fault(atAlgorithm, reason);
  }
  const why = burst === undefined
    ? undefined
    : algorithm !== "token_bucket"
    ? "burst is what a token bucket holds: write algorithm: token_bucket " +
      "beside it, or take it out"
    : burst === 0
    ? "burst of 0 refuses all: write 1 or more, or requests_per_unit: 0 alone"
    : requestsPerUnit === 0
    ? "burst never comes back with requests_per_unit: 0"
    : undefined;
  if (why !== undefined) fault(atBurst, why);
}

/** Most wildcards of one key that later ones are compared with. */
const MAX_COMPARED = 200;

/**
 * Returns warnings for wildcards that an earlier wildcard of the same key
 * always beats, for keys that look like patterns, and for `replaces` that name
 * no rule of their domain; in steps of one descriptor.
 */
export function* unreachableRules(
  domains: readonly DomainConfig[],
): Generator<void, ConfigFault[]> {
  const names = new Map<string, Set<string>>();
  const walks: Walk[] = [];
  for (const config of domains) {
    const known = names.get(config.domain) ?? new Set();
    names.set(config.domain, known);
    const walk: Walk = { config, names: known, replacing: [], warnings: [] };
    yield* walkLevel(config.descriptors, { walk, at: ["descriptors"] });
    walks.push(walk);
  }
  return walks.flatMap((walk) => {
    for (const replacing of walk.replacing) unknownReplaces(replacing, walk);
    return walk.warnings;
  });
}

/** What is found while walking through one configuration. */
interface Walk {
  readonly config: DomainConfig;
  /** Names of all rules of the domain, also of other configurations. */
  readonly names: Set<string>;
  /** Lists of rules that a limit replaces. */
  readonly replacing: Replacing[];
  readonly warnings: ConfigFault[];
}

interface Replacing {
  readonly replaces: readonly string[];
  /** Path of the list. */
  readonly path: ConfigPath;
}

function* walkLevel(
  level: readonly DescriptorConfig[],
  { walk, at }: {
    readonly walk: Walk;
    /** Path of the level. */
    readonly at: ConfigPath;
  },
): Generator<void> {
  let earlier: Map<string, WildcardSet<Wildcard>> | undefined;
  for (let index = 0; index < level.length; index++) {
    const descriptor = level[index]!;
    const { key, value, descriptors: below } = descriptor;
    if (below.length > 0) {
      yield* walkLevel(below, { walk, at: [...at, index, "descriptors"] });
    }
    if (key.includes("*")) patternInKey(descriptor, walk, [...at, index]);
    if (value.includes("*")) {
      earlier ??= new Map();
      const path = [...at, index, "value"];
      shadowedWildcard(descriptor, { walk, earlier, path });
    }
    yield;
    for (
      const { limit: { name, replaces }, at: place } of listLimits(descriptor)
    ) {
      if (name !== "") walk.names.add(name);
      if (replaces.length > 0) {
        const path = [...at, index, ...place, "replaces"];
        walk.replacing.push({ replaces, path });
      }
    }
  }
}

/**
 * Warns of a key with an asterisk. Gateways name routes so and repeat the name
 * as the value; people who write a key alone expect a pattern.
 */
function patternInKey(
  { key, value }: DescriptorConfig,
  walk: Walk,
  path: ConfigPath,
): void {
  if (key === value) return;
  warn(
    walk,
    [...path, "key"],
    `key '${key}' matches itself alone: an asterisk is a pattern in a value ` +
      "only",
  );
}

function shadowedWildcard(
  { key, value }: DescriptorConfig,
  { walk, earlier, path }: {
    readonly walk: Walk;
    /** The wildcards before it on its level, by their keys. */
    readonly earlier: Map<string, WildcardSet<Wildcard>>;
    /** Path of its value. */
    readonly path: ConfigPath;
  },
): void {
  const before = earlier.get(key) ?? new WildcardSet();
  earlier.set(key, before);
  // A pattern that matches another pattern's own text, asterisks standing
  // for themselves, matches everything the other one matches.
  const bytes = new TextEncoder().encode(value);
  const winner = before.firstMatch(bytes, 0, bytes.length);
  if (winner !== undefined) {
    warn(
      walk,
      path,
      `value '${value}' can never match: '${winner.pattern}' ` +
        "stands before it and matches all that it matches",
    );
  }
  if (before.size >= MAX_COMPARED) return;
  const wildcard = new Wildcard(value);
  before.add(wildcard, wildcard);
}

function unknownReplaces({ replaces, path }: Replacing, walk: Walk): void {
  for (const [index, name] of replaces.entries()) {
    if (name === "" || walk.names.has(name)) continue;
    warn(
      walk,
      [...path, index],
      `replaces names '${name}', but no rule of domain ` +
        `'${walk.config.domain}' has that name`,
    );
  }
}

function warn(
  { config, warnings }: Walk,
  path: ConfigPath,
  reason: string,
): void {
  const line = config.findLine(path);
  warnings.push({ file: config.name, line, path, reason });
}
