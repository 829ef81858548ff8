/**
 * Decodes `ratelimit.config.ratelimit.v3.RateLimitConfig`, the rules of a
 * domain that a discovery server sends.
 *
 * @module
 */

import {
  type JsonObject,
  readStruct,
  type StructDraft,
  toObject,
} from "./struct.ts";
import { type MalformedFault, WireReader } from "./wire.ts";

/** The full name of the message type, with which its type URLs end. */
export const RATE_LIMIT_CONFIG_TYPE =
  "ratelimit.config.ratelimit.v3.RateLimitConfig";

/** The limit of a rule. */
export interface RateLimitPolicy {
  /** The number of the unit, the same as in an answer's limit. */
  readonly unit: number;
  /** Requests allowed in one unit. */
  readonly requestsPerUnit: number;
  /** True when the rule has no limit. */
  readonly unlimited: boolean;
  /**
   * Name by which another rule may replace this one; empty when it has no name.
   */
  readonly name: string;
  /** Names of the rules that this one replaces. */
  readonly replaces: readonly string[];
  /**
   * Algorithm by which the rule counts, named as in a configuration file; empty
   * for the fixed window.
   */
  readonly algorithm: string;
  /** Requests that a full token bucket holds; undefined when not set. */
  readonly burst: number | undefined;
  /** Length of the window in seconds in place of a unit; 0 when not set. */
  readonly windowSeconds: number;
  /** True when this limit alone never refuses; only among several. */
  readonly shadowMode: boolean;
}

/**
 * One descriptor of a rule tree: what it matches, its limit, and the
 * descriptors nested in it.
 */
export interface ConfiguredDescriptor {
  /** The key that is matched. */
  readonly key: string;
  /** The value that is matched; empty matches every value. */
  readonly value: string;
  /** The limit, when the descriptor sets one. */
  readonly rateLimit: RateLimitPolicy | undefined;
  /** Further limits, which count beside that one. */
  readonly rateLimits: readonly RateLimitPolicy[];
  /** The descriptors of the next level. */
  readonly descriptors: readonly ConfiguredDescriptor[];
  /** True when the decision by this rule is always OK. */
  readonly shadowMode: boolean;
  /** True when statistics are kept for each value that was matched. */
  readonly detailedMetric: boolean;
  /** True when the rule refuses only when all quotas of a call are used up. */
  readonly quotaMode: boolean;
  /**
   * Metadata that the proxy gets when the rule matched; undefined when not set.
   */
  readonly metadata: JsonObject | undefined;
}

/** The rules of one domain. */
interface RateLimitConfigMessage {
  /** Name of the resource. */
  readonly name: string;
  /** The domain. */
  readonly domain: string;
  /** The descriptors of the top level. */
  readonly descriptors: readonly ConfiguredDescriptor[];
  /** False when a call that one limit refuses is not counted by the others. */
  readonly countWhenLimited: boolean;
}

/**
 * Levels of descriptors that may be nested, as many as protobuf libraries take.
 */
const MAX_DEPTH = 100;

const CONFIG_NAME = 1 << 3 | 2;
const CONFIG_DOMAIN = 2 << 3 | 2;
const CONFIG_DESCRIPTORS = 3 << 3 | 2;
const CONFIG_COUNT_WHEN_LIMITED = 100 << 3;
const DESCRIPTOR_KEY = 1 << 3 | 2;
const DESCRIPTOR_VALUE = 2 << 3 | 2;
const DESCRIPTOR_RATE_LIMIT = 3 << 3 | 2;
const DESCRIPTOR_DESCRIPTORS = 4 << 3 | 2;
const DESCRIPTOR_SHADOW_MODE = 5 << 3;
const DESCRIPTOR_DETAILED_METRIC = 6 << 3;
const DESCRIPTOR_QUOTA_MODE = 7 << 3;
const DESCRIPTOR_METADATA = 8 << 3 | 2;
const DESCRIPTOR_RATE_LIMITS = 100 << 3 | 2;
const POLICY_UNIT = 1 << 3;
const POLICY_REQUESTS_PER_UNIT = 2 << 3;
const POLICY_UNLIMITED = 3 << 3;
const POLICY_NAME = 4 << 3 | 2;
const POLICY_REPLACES = 5 << 3 | 2;
const POLICY_ALGORITHM = 100 << 3 | 2;
const POLICY_BURST = 101 << 3;
const POLICY_WINDOW_SECONDS = 102 << 3;
const POLICY_SHADOW_MODE = 103 << 3;
const REPLACE_NAME = 1 << 3 | 2;

/**
 * A limit while it is decoded: a message that occurs twice is merged into one.
 */
type PolicyDraft =
  & { -readonly [Name in keyof RateLimitPolicy]: RateLimitPolicy[Name] }
  & { readonly replaces: string[] };

/**
 * Reads the rules of a domain; returns a fault (`"kind" in result`) for
 * malformed bytes.
 */
export function decodeRateLimitConfig(
  bytes: Uint8Array,
): RateLimitConfigMessage | MalformedFault {
  const reader = new WireReader(bytes);
  const descriptors: ConfiguredDescriptor[] = [];
  let name = "";
  let domain = "";
  let countWhenLimited = true;
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case CONFIG_NAME:
        name = reader.text();
        break;
      case CONFIG_DOMAIN:
        domain = reader.text();
        break;
      case CONFIG_DESCRIPTORS:
        descriptors.push(readDescriptor(reader, 1));
        break;
      case CONFIG_COUNT_WHEN_LIMITED:
        countWhenLimited = reader.bool();
        break;
      default:
        reader.skip(tag);
    }
  }
  return reader.fault("rules") ??
    { name, domain, descriptors, countWhenLimited };
}

function readDescriptor(
  reader: WireReader,
  depth: number,
): ConfiguredDescriptor {
  const outer = reader.open();
  if (depth > MAX_DEPTH) {
    reader.fail(
      `descriptors are nested over ${MAX_DEPTH} deep ` +
        `at byte ${reader.position}`,
    );
  }
  const descriptors: ConfiguredDescriptor[] = [];
  const rateLimits: RateLimitPolicy[] = [];
  let key = "";
  let value = "";
  let rateLimit: PolicyDraft | undefined;
  let shadowMode = false;
  let detailedMetric = false;
  let quotaMode = false;
  let metadata: StructDraft | undefined;
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case DESCRIPTOR_KEY:
        key = reader.text();
        break;
      case DESCRIPTOR_VALUE:
        value = reader.text();
        break;
      case DESCRIPTOR_RATE_LIMIT:
        rateLimit ??= emptyPolicy();
        readPolicy(reader, rateLimit);
        break;
      case DESCRIPTOR_RATE_LIMITS: {
        const policy = emptyPolicy();
        readPolicy(reader, policy);
        rateLimits.push(policy);
        break;
      }
      case DESCRIPTOR_DESCRIPTORS:
        descriptors.push(readDescriptor(reader, depth + 1));
        break;
      case DESCRIPTOR_SHADOW_MODE:
        shadowMode = reader.bool();
        break;
      case DESCRIPTOR_DETAILED_METRIC:
        detailedMetric = reader.bool();
        break;
      case DESCRIPTOR_QUOTA_MODE:
        quotaMode = reader.bool();
        break;
      case DESCRIPTOR_METADATA:
        metadata ??= new Map();
        readStruct(reader, metadata);
        break;
      default:
        reader.skip(tag);
    }
  }
  reader.close(outer);
  return {
    key,
    value,
    rateLimit,
    rateLimits,
    descriptors,
    shadowMode,
    detailedMetric,
    quotaMode,
    metadata: metadata && toObject(metadata),
  };
}

function emptyPolicy(): PolicyDraft {
  return {
    unit: 0,
    requestsPerUnit: 0,
    unlimited: false,
    name: "",
    replaces: [],
    algorithm: "",
    burst: undefined,
    windowSeconds: 0,
    shadowMode: false,
  };
}

function readPolicy(reader: WireReader, policy: PolicyDraft): void {
  const outer = reader.open();
  while (reader.hasMore()) {
    const tag = reader.tag();
    switch (tag) {
      case POLICY_UNIT:
        policy.unit = reader.int32();
        break;
      case POLICY_REQUESTS_PER_UNIT:
        policy.requestsPerUnit = reader.uint32();
        break;
      case POLICY_UNLIMITED:
        policy.unlimited = reader.bool();
        break;
      case POLICY_NAME:
        policy.name = reader.text();
        break;
      case POLICY_REPLACES:
        policy.replaces.push(readReplace(reader));
        break;
      case POLICY_ALGORITHM:
        policy.algorithm = reader.text();
        break;
      case POLICY_BURST:
        policy.burst = reader.uint32();
        break;
      case POLICY_WINDOW_SECONDS:
        policy.windowSeconds = reader.uint32();
        break;
      case POLICY_SHADOW_MODE:
        policy.shadowMode = reader.bool();
        break;
      default:
        reader.skip(tag);
    }
  }
  reader.close(outer);
}

function readReplace(reader: WireReader): string {
  const outer = reader.open();
  let name = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === REPLACE_NAME) name = reader.text();
    else reader.skip(tag);
  }
  reader.close(outer);
  return name;
}
