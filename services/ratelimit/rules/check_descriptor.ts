/**
 * The checks on one descriptor of a configuration, in the order in which they
 * are reported.
 *
 * @module
 */

import type { ConfigPath, DescriptorConfig } from "./config.ts";
import { UNIT_WORDS, unitOfWord } from "./unit.ts";

/** Something wrong with a descriptor. */
export interface DescriptorFault {
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
