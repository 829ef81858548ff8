/**
 * Rules that can never apply: they load, but they look like a mistake.
 *
 * @module
 */

import type { DescriptorConfig, DomainConfig } from "./config.ts";
import type { ConfigFault } from "./config_fault.ts";
import { Wildcard } from "./wildcard.ts";

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
