/**
 * Checks of a configuration: of single descriptors, in the order in which
 * faults are reported, and for rules that no request can reach.
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
import { Wildcard } from "./wildcard.ts";
import { UNIT_WORDS, unitOfWord } from "./unit.ts";

/** Takes what is wrong with a descriptor: where, below it, and what. */
type TakeFault = (at: ConfigPath, reason: string) => void;

/** All faults of a descriptor itself; its children are not looked at. */
export function checkDescriptor(
  descriptor: DescriptorConfig,
  options: {
    /** `domain.key_value` up to and with this descriptor. */
    readonly path: string;
    /** False when its level has the same key and value already. */
    readonly isNew: boolean;
    /** Whether other algorithms are refused. */
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
  if (!options.isNew) {
    fault(["key"], `duplicate descriptor composite key '${options.path}'`);
  }
  if (rateLimit !== undefined) {
    checkRateLimit(rateLimit, fault);
    checkAlgorithm(rateLimit, options);
  }
  if (descriptor.shareThreshold && !value.includes("*")) {
    const keyValue = value === "" ? key : `${key}_${value}`;
    const reason = "share_threshold can only be used with wildcard values " +
      `(containing '*'), but found key '${keyValue}'`;
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

/** Wildcards of one key that later ones are compared with. */
const MAX_COMPARED = 200;

/**
 * Warnings for wildcards that an earlier wildcard of the same key always
 * beats, and for `replaces` that name no rule of their domain.
 */
export function unreachableRules(
  domains: readonly DomainConfig[],
): ConfigFault[] {
  const names = new Map<string, Set<string>>();
  for (const { domain, descriptors } of domains) {
    const known = names.get(domain) ?? new Set();
    names.set(domain, known);
    collectNames(descriptors, known);
  }
  const warnings: ConfigFault[] = [];
  for (const config of domains) {
    const known = names.get(config.domain) ?? new Set<string>();
    shadowedWildcards(config.descriptors, { config, warnings });
    unknownReplaces(config.descriptors, { config, warnings, known });
  }
  return warnings;
}

function collectNames(
  descriptors: readonly DescriptorConfig[],
  names: Set<string>,
): void {
  for (const { rateLimit, descriptors: below } of descriptors) {
    const name = rateLimit?.name ?? "";
    if (name !== "") names.add(name);
    collectNames(below, names);
  }
}

/** Where warnings about a configuration go. */
interface Warned {
  readonly config: DomainConfig;
  readonly warnings: ConfigFault[];
}

function warn(
  { config, warnings }: Warned,
  path: ConfigPath,
  reason: string,
): void {
  const line = config.lineOf(path);
  warnings.push({ file: config.name, line, path, reason });
}

function unknownReplaces(
  descriptors: readonly DescriptorConfig[],
  warned: Warned & { readonly known: ReadonlySet<string> },
): void {
  for (const { rateLimit, path, descriptors: below } of descriptors) {
    const replaces = rateLimit?.replaces ?? [];
    for (let index = 0; index < replaces.length; index++) {
      const name = replaces[index]!;
      if (name === "" || warned.known.has(name)) continue;
      warn(
        warned,
        [...path, "rate_limit", "replaces", index],
        `replaces names '${name}', but no rule of domain ` +
          `'${warned.config.domain}' has that name`,
      );
    }
    unknownReplaces(below, warned);
  }
}

function shadowedWildcards(
  level: readonly DescriptorConfig[],
  warned: Warned,
): void {
  const encoder = new TextEncoder();
  const earlier = new Map<string, Wildcard[]>();
  for (const { key, value, path, descriptors: below } of level) {
    if (below.length > 0) shadowedWildcards(below, warned);
    if (!value.includes("*")) continue;
    const before = earlier.get(key) ?? [];
    earlier.set(key, before);
    // A pattern that matches another pattern's own text, asterisks standing
    // for themselves, matches everything the other one matches.
    const bytes = encoder.encode(value);
    const winner = before.slice(0, MAX_COMPARED)
      .find((other) => other.matches(bytes, 0, bytes.length));
    if (winner !== undefined) {
      warn(
        warned,
        [...path, "value"],
        `value '${value}' can never match: '${winner.pattern}' ` +
          "stands before it and matches all that it matches",
      );
    }
    before.push(new Wildcard(value));
  }
}
