/**
 * The rules in the form that decisions read: immutable, looked up by bytes.
 *
 * @module
 */

import type { JsonObject } from "../../../proto/rate_limit_response.ts";
import type { ByteMap } from "../bytes/byte_map.ts";
import type { LimitUnit } from "./unit.ts";
import type { Wildcard } from "./wildcard.ts";

/** A limit with all that a decision needs to know of it. */
export interface Limit {
  /** Requests allowed in one window, an unsigned 32-bit value. */
  readonly requestsPerUnit: number;
  /** The unit as the answer names it. */
  readonly unit: LimitUnit;
  /** Length of the window. */
  readonly windowSeconds: number;
}

/** How one level of a rule shows in statistics. */
export interface RuleLevel {
  /** As configured: the key, with `_` and the value or pattern if there is one. */
  readonly keyValue: string;
  /** The statistics path shows the request's value here. */
  readonly valueToMetric: boolean;
  /** The pattern stands for every value it matches, in statistics and counters. */
  readonly shareThreshold: boolean;
}

/** A rule with a limit, or one that is unlimited. */
export interface Rule {
  /** Position within {@linkcode Snapshot.rules}. */
  readonly id: number;
  /** The domain the rule belongs to. */
  readonly domain: string;
  /** The limit; undefined when the rule is unlimited. */
  readonly limit: Limit | undefined;
  /** Name by which another rule replaces this one; empty for none. */
  readonly name: string;
  /** Names of the rules this one replaces. */
  readonly replaces: readonly string[];
  /** The decision of this rule is always OK. */
  readonly shadowMode: boolean;
  /** The rule refuses only when all quotas of a call are used up. */
  readonly quotaMode: boolean;
  /** Statistics are kept by the values of the request at every level. */
  readonly detailedMetric: boolean;
  /** Handed to the proxy when the rule matched. */
  readonly metadata: JsonObject | undefined;
  /** The levels from the top to this rule. */
  readonly levels: readonly RuleLevel[];
  /** `domain.key_value.key…` as configured. */
  readonly path: string;
  /** True when the statistics path depends on the request. */
  readonly hasDynamicPath: boolean;
  /**
   * What stands before the value of each entry in the counter key, and one
   * more part that stands at the end. Fixed values are part of them.
   */
  readonly keyParts: readonly KeyPart[];
}

/** A piece of a counter key: fixed bytes, then the value of one entry. */
export interface KeyPart {
  /** Bytes that are the same for every request, escaped. */
  readonly bytes: Uint8Array;
  /** Index of the entry whose value follows; -1 after the last part. */
  readonly valueOfEntry: number;
}

/** A descriptor of the configuration: a rule, a way to deeper ones, or both. */
export interface RuleNode {
  /** The rule, where this node sets a limit. */
  readonly rule: Rule | undefined;
  /** The next level, where there is one. */
  readonly children: RuleTable | undefined;
}

/** All rules of one level under one key. */
export interface KeyRules {
  /** By exact value. */
  readonly exact: ByteMap<RuleNode>;
  /** With an asterisk, in the order of the file: the first match wins. */
  readonly wildcards: readonly {
    readonly wildcard: Wildcard;
    readonly node: RuleNode;
  }[];
  /** For any value. */
  readonly any: RuleNode | undefined;
}

/** All rules of one level. */
export interface RuleTable {
  /** By key. */
  readonly keys: ByteMap<KeyRules>;
}

/** The rules of one domain. */
export interface DomainRules {
  /** The domain. */
  readonly domain: string;
  /** The top level. */
  readonly table: RuleTable;
  /** Beginning of every counter key of the domain, escaped. */
  readonly keyPrefix: Uint8Array;
}

/** All rules of the service at one time. */
export interface Snapshot {
  /** By domain. */
  readonly domains: ByteMap<DomainRules>;
  /** Every rule that has a limit or is unlimited, by its id. */
  readonly rules: readonly Rule[];
  /** Names of the domains, in the order they were loaded. */
  readonly domainNames: readonly string[];
}
