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

/** Something wrong with a descriptor. */
interface DescriptorFault {
  /** Where, below the descriptor. */
  readonly at: ConfigPath;
  /** What. */
  readonly reason: string;
}

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
  },
): DescriptorFault[] {
  const faults: DescriptorFault[] = [];
  const { key, value } = descriptor;
  if (key === "") {
    faults.push({ at: [], reason: "descriptor has empty key" });
  }
  if (key.includes("*")) {
    const reason = `descriptor key '${key}' has an asterisk, which only a ` +
      `value can have: write key: ${key.replaceAll("*", "") || "name"} and ` +
      "the pattern as its value";
    faults.push({ at: ["key"], reason });
  }
  if (!options.isNew) {
    const reason = `duplicate descriptor composite key '${options.path}'`;
    faults.push({ at: ["key"], reason });
  }
  faults.push(...checkRateLimit(descriptor));
  if (descriptor.rateLimit !== undefined) {
    faults.push(...checkAlgorithm(descriptor.rateLimit, options));
  }
  if (descriptor.shareThreshold && !value.includes("*")) {
    const keyValue = value === "" ? key : `${key}_${value}`;
    const reason = "share_threshold can only be used with wildcard values " +
      `(containing '*'), but found key '${keyValue}'`;
    faults.push({ at: ["share_threshold"], reason });
  }
  return faults;
}

function checkRateLimit(descriptor: DescriptorConfig): DescriptorFault[] {
  const { rateLimit } = descriptor;
  if (rateLimit === undefined) return [];
  const faults: DescriptorFault[] = [];
  const isUnit = unitOfWord(rateLimit.unit) !== undefined;
  if (!rateLimit.unlimited && !isUnit) {
    const reason = `invalid rate limit unit '${rateLimit.unit}', expected ` +
      `one of ${UNIT_WORDS.join(", ")}`;
    faults.push({ at: ["rate_limit", "unit"], reason });
  }
  if (rateLimit.unlimited && isUnit) {
    const reason = "should not specify rate limit unit when unlimited";
    faults.push({ at: ["rate_limit", "unit"], reason });
  }
  for (const [index, name] of rateLimit.replaces.entries()) {
    const at = ["rate_limit", "replaces", index];
    if (name === "") {
      faults.push({ at, reason: "should not have an empty replaces entry" });
    } else if (name === rateLimit.name) {
      const reason = "replaces should not contain name of same descriptor";
      faults.push({ at, reason });
    }
  }
  return faults;
}

function checkAlgorithm(
  rateLimit: RateLimitConfig,
  { onlyFixedWindow }: { readonly onlyFixedWindow: boolean },
): DescriptorFault[] {
  const { algorithm: word, burst, requestsPerUnit, unlimited } = rateLimit;
  const atAlgorithm = ["rate_limit", "algorithm"];
  const atBurst = ["rate_limit", "burst"];
  if (unlimited) {
    const reason = (what: string): string =>
      `should not specify ${what} when unlimited`;
    return [
      ...(word === ""
        ? []
        : [{ at: atAlgorithm, reason: reason("algorithm") }]),
      ...(burst === undefined
        ? []
        : [{ at: atBurst, reason: reason("burst") }]),
    ];
  }
  const algorithm = algorithmOfWord(word);
  if (algorithm === undefined) {
    const near = nearest(word, ALGORITHM_WORDS);
    const reason = `unknown algorithm '${word}', ` +
      (near === undefined
        ? `expected one of ${ALGORITHM_WORDS.join(", ")}`
        : `did you mean '${near}'`);
    return [{ at: atAlgorithm, reason }];
  }
  if (onlyFixedWindow && algorithm !== "fixed_window") {
    const reason = `algorithm '${algorithm}' needs exact counters, which ` +
      "BACKEND_TYPE=altcache does not have; take the algorithm out, or set " +
      "BACKEND_TYPE to kvstore or memory";
    return [{ at: atAlgorithm, reason }];
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
  return why === undefined ? [] : [{ at: atBurst, reason: why }];
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
    for (const descriptor of everyDescriptor(descriptors)) {
      const name = descriptor.rateLimit?.name ?? "";
      if (name !== "") known.add(name);
    }
  }
  return domains.flatMap((config) => {
    const known = names.get(config.domain) ?? new Set<string>();
    return [
      ...shadowedWildcards(config, config.descriptors),
      ...everyDescriptor(config.descriptors).flatMap((descriptor) =>
        unknownReplaces(config, descriptor, known)
      ),
    ];
  });
}

function everyDescriptor(
  descriptors: readonly DescriptorConfig[],
): DescriptorConfig[] {
  return descriptors.flatMap((descriptor) => [
    descriptor,
    ...everyDescriptor(descriptor.descriptors),
  ]);
}

function unknownReplaces(
  config: DomainConfig,
  descriptor: DescriptorConfig,
  known: ReadonlySet<string>,
): ConfigFault[] {
  const replaces = descriptor.rateLimit?.replaces ?? [];
  return replaces.flatMap((name, index): ConfigFault[] => {
    if (name === "" || known.has(name)) return [];
    const path = [...descriptor.path, "rate_limit", "replaces", index];
    return [{
      file: config.name,
      line: config.lineOf(path),
      path,
      reason: `replaces names '${name}', but no rule of domain ` +
        `'${config.domain}' has that name`,
    }];
  });
}

function shadowedWildcards(
  config: DomainConfig,
  level: readonly DescriptorConfig[],
): ConfigFault[] {
  const encoder = new TextEncoder();
  const warnings: ConfigFault[] = [];
  const earlier = new Map<string, Wildcard[]>();
  for (const descriptor of level) {
    warnings.push(...shadowedWildcards(config, descriptor.descriptors));
    const { key, value, path } = descriptor;
    if (!value.includes("*")) continue;
    const before = earlier.get(key) ?? [];
    earlier.set(key, before);
    // A pattern that matches another pattern's own text, asterisks standing
    // for themselves, matches everything the other one matches.
    const bytes = encoder.encode(value);
    const winner = before.slice(0, MAX_COMPARED)
      .find((other) => other.matches(bytes, 0, bytes.length));
    if (winner !== undefined) {
      warnings.push({
        file: config.name,
        line: config.lineOf([...path, "value"]),
        path: [...path, "value"],
        reason: `value '${value}' can never match: '${winner.pattern}' ` +
          "stands before it and matches all that it matches",
      });
    }
    before.push(new Wildcard(value));
  }
  return warnings;
}
