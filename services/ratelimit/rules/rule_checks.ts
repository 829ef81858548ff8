/**
 * Checks configurations: single descriptors, with faults in the order in which
 * they are reported, and rules that no request can reach.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { ALGORITHM_WORDS, algorithmOfWord } from "./algorithm.ts";
import type {
  ConfigFault,
  ConfigPath,
  DescriptorConfig,
  DomainConfig,
  RateLimitConfig,
} from "./config.ts";
import { keyValueOf } from "./snapshot.ts";
import { UNIT_WORDS, unitOfWord } from "./unit.ts";
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
  const { key, value, rateLimit } = descriptor;
  const { fault } = options;
  if (key === "") fault([], "descriptor has empty key");
  if (key.includes("*")) {
    const reason = `descriptor key '${key}' has an asterisk, which only a ` +
      `value can have: write key: ${key.replaceAll("*", "") || "name"} and ` +
      "the pattern as its value";
    fault(["key"], reason);
  }
  if (options.duplicatePath !== undefined) {
    fault(
      ["key"],
      `duplicate descriptor composite key '${options.duplicatePath}'`,
    );
  }
  if (rateLimit !== undefined) {
    checkRateLimit(rateLimit, fault);
    checkAlgorithm(rateLimit, options);
  }
  if (descriptor.shareThreshold && !value.includes("*")) {
    const reason = "share_threshold can only be used with wildcard values " +
      `(containing '*'), but found key '${keyValueOf(descriptor)}'`;
    fault(["share_threshold"], reason);
  }
}

function checkRateLimit(rateLimit: RateLimitConfig, fault: TakeFault): void {
  const isUnit = unitOfWord(rateLimit.unit) !== undefined;
  if (!rateLimit.unlimited && !isUnit) {
    const reason = `invalid rate limit unit '${rateLimit.unit}', expected ` +
      `one of ${UNIT_WORDS.join(", ")}`;
    fault(["rate_limit", "unit"], reason);
  }
  if (rateLimit.unlimited && isUnit) {
    const reason = "should not specify rate limit unit when unlimited";
    fault(["rate_limit", "unit"], reason);
  }
  for (let index = 0; index < rateLimit.replaces.length; index++) {
    const name = rateLimit.replaces[index];
    const at = ["rate_limit", "replaces", index];
    if (name === "") fault(at, "should not have an empty replaces entry");
    else if (name === rateLimit.name) {
      fault(at, "replaces should not contain name of same descriptor");
    }
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
  const atAlgorithm = ["rate_limit", "algorithm"];
  const atBurst = ["rate_limit", "burst"];
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
 * always beats, and for `replaces` that name no rule of their domain; in steps
 * of one descriptor.
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
    const { rateLimit, value, descriptors: below } = descriptor;
    if (below.length > 0) {
      yield* walkLevel(below, { walk, at: [...at, index, "descriptors"] });
    }
    if (value.includes("*")) {
      earlier ??= new Map();
      const path = [...at, index, "value"];
      shadowedWildcard(descriptor, { walk, earlier, path });
    }
    yield;
    if (rateLimit === undefined) continue;
    const { name, replaces } = rateLimit;
    if (name !== "") walk.names.add(name);
    if (replaces.length > 0) {
      const path = [...at, index, "rate_limit", "replaces"];
      walk.replacing.push({ replaces, path });
    }
  }
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
  const line = config.lineOf(path);
  warnings.push({ file: config.name, line, path, reason });
}
