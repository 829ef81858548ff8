/**
 * Reads a message of a discovery server into plain values, the same as those of
 * a file. What they mean together is checked when they are compiled.
 *
 * @module
 */

import {
  type ConfiguredDescriptor,
  decodeRateLimitConfig,
  type RateLimitPolicy,
} from "../../../proto/rate_limit_config.ts";
import { UNIT } from "../../../proto/rate_limit_response.ts";
import { type JsonValue, MAX_STRUCT_DEPTH } from "../../../proto/struct.ts";
import type {
  ConfigFault,
  ConfigPath,
  DescriptorConfig,
  DomainConfig,
  RateLimitConfig,
} from "./config.ts";
import type { ReadDomain } from "./read_domain.ts";
import { idleWords } from "./rule_checks.ts";

/** A resource of a discovery server, not yet decoded. */
export interface ConfigMessage {
  /** Name for messages when the resource has no name of its own. */
  readonly name: string;
  /** The encoded `RateLimitConfig`. */
  readonly bytes: Uint8Array;
}

/**
 * Levels that metadata may have: the answer that carries it adds one around it.
 */
const MAX_METADATA_DEPTH = MAX_STRUCT_DEPTH - 1;

/** The resource that is read, with its faults and warnings so far. */
interface Reading {
  /** Name of the resource. */
  readonly file: string;
  readonly faults: ConfigFault[];
  readonly warnings: ConfigFault[];
}

/** Reads one resource; collects every fault instead of stopping at the first. */
export function readMessage(message: ConfigMessage): ReadDomain {
  const decoded = decodeRateLimitConfig(message.bytes);
  if ("kind" in decoded) {
    const reason = `error loading config file: ${decoded.reason}`;
    const faults = [{ file: message.name, line: undefined, path: [], reason }];
    return { domain: undefined, faults, warnings: [] };
  }
  const file = decoded.name === "" ? message.name : decoded.name;
  const reading: Reading = { file, faults: [], warnings: [] };
  if (decoded.domain === "") {
    fault(reading, [], "config file cannot have empty domain");
  }
  const domain: DomainConfig = {
    name: file,
    domain: decoded.domain,
    descriptors: readDescriptors(reading, decoded.descriptors, []),
    countWhenLimited: decoded.countWhenLimited,
    // A message has no lines.
    findLine: () => undefined,
  };
  const { faults, warnings } = reading;
  return {
    domain: faults.length === 0 ? domain : undefined,
    faults,
    warnings,
  };
}

function readDescriptors(
  reading: Reading,
  descriptors: readonly ConfiguredDescriptor[],
  path: ConfigPath,
): DescriptorConfig[] {
  return descriptors.map((descriptor, index) =>
    readDescriptor(reading, descriptor, [...path, "descriptors", index])
  );
}

function readDescriptor(
  reading: Reading,
  descriptor: ConfiguredDescriptor,
  path: ConfigPath,
): DescriptorConfig {
  const { shadowMode, quotaMode, detailedMetric, metadata } = descriptor;
  for (const word of idleWords(descriptor)) {
    const reason = `${word} does nothing without rate_limit`;
    reading.warnings.push(faultAt(reading, [...path, word], reason));
  }
  const wrong = metadata && metadataFault(metadata, 1);
  if (wrong !== undefined) {
    fault(reading, [...path, "metadata"], `error parsing metadata: ${wrong}`);
  }
  return {
    key: descriptor.key,
    value: descriptor.value,
    rateLimit: descriptor.rateLimit && readLimit(descriptor.rateLimit),
    rateLimits: descriptor.rateLimits.length === 0
      ? undefined
      : descriptor.rateLimits.map(readLimit),
    shadowMode,
    quotaMode,
    detailedMetric,
    // The message has no fields for these two.
    valueToMetric: false,
    shareThreshold: false,
    metadata,
    descriptors: readDescriptors(reading, descriptor.descriptors, path),
  };
}

function readLimit(policy: RateLimitPolicy): RateLimitConfig {
  const { requestsPerUnit, algorithm, burst, unlimited, name, replaces } =
    policy;
  const { windowSeconds, shadowMode } = policy;
  const window = windowSeconds === 0 ? undefined : `${windowSeconds}s`;
  return {
    // A window stands in place of a unit, which the message can't leave out.
    unit: window !== undefined && policy.unit === UNIT.UNKNOWN
      ? ""
      : formatUnit(policy.unit),
    window,
    requestsPerUnit,
    algorithm,
    burst,
    unlimited,
    name,
    replaces,
    shadowMode,
  };
}

/**
 * Returns a unit as a file would write it; an unknown number becomes a word
 * that is not a unit.
 */
function formatUnit(number: number): string {
  const known = Object.entries(UNIT).find(([, unit]) => unit === number);
  return known?.[0] ?? String(number);
}

/** Returns why a value can't be sent to a proxy; undefined when it can. */
function metadataFault(value: JsonValue, depth: number): string | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value)
      ? undefined
      : `"${value}" is not a value of a Struct`;
  }
  if (value === null || typeof value !== "object") return undefined;
  if (depth > MAX_METADATA_DEPTH) {
    return `it nests deeper than ${MAX_METADATA_DEPTH} levels`;
  }
  for (const inner of Object.values(value)) {
    const wrong = metadataFault(inner, depth + 1);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function fault(reading: Reading, path: ConfigPath, reason: string): void {
  reading.faults.push(faultAt(reading, path, reason));
}

function faultAt(
  { file }: Reading,
  path: ConfigPath,
  reason: string,
): ConfigFault {
  return { file, line: undefined, path, reason };
}
