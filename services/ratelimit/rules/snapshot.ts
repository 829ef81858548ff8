/**
 * The rules in the form that decisions read: immutable, and matched by bytes.
 *
 * @module
 */

import type { JsonObject } from "../../../proto/struct.ts";
import type { RequestView } from "../../../proto/request_view.ts";
import type { ByteMap } from "../bytes/byte_map.ts";
import type { Algorithm } from "./algorithm.ts";
import type { KeyLevel, RuleKeys } from "./counter_key.ts";
import type { LimitUnit } from "./unit.ts";
import type { WildcardSet } from "./wildcard.ts";

/** A limit with all that a decision needs to know of it. */
export interface Limit {
  /** Requests allowed in one window, an unsigned 32-bit value. */
  readonly requestsPerUnit: number;
  /** The unit as the answer names it. */
  readonly unit: LimitUnit;
  /** Length of the window. */
  readonly windowSeconds: number;
  /** How hits are counted. */
  readonly algorithm: Algorithm;
  /** What a token bucket holds; undefined for the other algorithms. */
  readonly burst: number | undefined;
}

/** One level of a rule, as configured: how it shows in statistics and counter keys. */
export interface RuleLevel extends KeyLevel {
  /** The statistics path shows the request's value here, but for a shared pattern. */
  readonly valueToMetric: boolean;
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
  /** The file or resource that it came from. */
  readonly file: string;
  /** Where it begins there, lines counted from 1; undefined where not known. */
  readonly line: number | undefined;
  /** True when the statistics path depends on the request. */
  readonly hasDynamicPath: boolean;
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
  readonly wildcards: WildcardSet<RuleNode>;
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

/** A descriptor of the configuration that sets no limit. */
interface Passage {
  /** It is no rule. */
  readonly id: undefined;
  /** The domain it belongs to. */
  readonly domain: string;
  /** The levels from the top to here. */
  readonly levels: readonly RuleLevel[];
}

/** All rules of the service at one time. */
export interface Snapshot {
  /** By domain. */
  readonly domains: ByteMap<DomainRules>;
  /** Every rule that has a limit or is unlimited, by its id. */
  readonly rules: readonly Rule[];
  /** All descriptors, in the order they were loaded. */
  readonly descriptors: readonly (Rule | Passage)[];
  /** Names of the domains, in the order they were loaded. */
  readonly domainNames: readonly string[];
  /** The counter keys of the rules. */
  readonly ruleKeys: RuleKeys;
}

/** One level of a walk of {@linkcode matchDescriptor}. */
export interface MatchStep {
  /** The entry of the request that was looked for. */
  readonly entry: number;
  /** The rules of the level; undefined below the last one. */
  readonly table: RuleTable | undefined;
  /** Those with the entry's key. */
  readonly rules: KeyRules | undefined;
  /** The one that matched. */
  readonly node: RuleNode | undefined;
}

/**
 * Walks the entries of `descriptor` down the levels: at each one the exact
 * value is tried first, then the wildcards in the order of the file, then the
 * key alone. There is no way back to another branch.
 *
 * @param steps Takes what was seen at each level, for those who explain it.
 * @returns The node at the last entry; undefined when there is none, or when
 * the descriptor is longer than the configuration.
 */
export function matchDescriptor(
  domain: DomainRules,
  view: RequestView,
  descriptor: number,
  steps?: MatchStep[],
): RuleNode | undefined {
  const bytes = view.bytes;
  const last = view.lastEntry(descriptor);
  let table: RuleTable | undefined = domain.table;
  let node: RuleNode | undefined;
  for (let entry = view.firstEntry(descriptor); entry < last; entry++) {
    const rules: KeyRules | undefined = table?.keys.get(
      bytes,
      view.keyStart(entry),
      view.keyEnd(entry),
    );
    node = rules === undefined ? undefined : matchValue(rules, {
      bytes,
      start: view.valueStart(entry),
      end: view.valueEnd(entry),
    });
    steps?.push({ entry, table, rules, node });
    if (node === undefined) return undefined;
    table = node.children;
  }
  return node;
}

interface ByteRange {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

function matchValue(rules: KeyRules, value: ByteRange): RuleNode | undefined {
  const { bytes, start, end } = value;
  const exact = rules.exact.get(bytes, start, end);
  if (exact !== undefined) return exact;
  return rules.wildcards.firstMatch(bytes, start, end) ?? rules.any;
}

/** `domain.key_value.key…` as configured. */
export function pathOf(
  { domain, levels }: {
    /** The domain. */
    readonly domain: string;
    /** The levels from the top. */
    readonly levels: readonly RuleLevel[];
  },
): string {
  return [domain, ...levels.map(keyValueOf)].join(".");
}

/** As configured: the key, with `_` and the value or pattern if there is one. */
export function keyValueOf({ key, value }: RuleLevel): string {
  return value === "" ? key : `${key}_${value}`;
}

/**
 * One line for each rule, in the order of the files; the unit of an unlimited
 * one is UNKNOWN, as with the service that this one replaces. An algorithm
 * stands there unless it is the fixed window.
 */
export function describeRules(snapshot: Snapshot): string[] {
  return snapshot.rules.map((rule) => `${pathOf(rule)}: ${describeRule(rule)}`);
}

/** What a rule does, in the words of `/rlconfig`. */
export function describeRule(rule: Rule): string {
  const unit = rule.limit?.unit ?? "UNKNOWN";
  const requests = rule.limit?.requestsPerUnit ?? 0;
  return `unit=${unit} requests_per_unit=${requests}, ` +
    `shadow_mode: ${rule.shadowMode}, quota_mode: ${rule.quotaMode}` +
    describeAlgorithm(rule.limit);
}

function describeAlgorithm(limit: Limit | undefined): string {
  if (limit === undefined || limit.algorithm === "fixed_window") return "";
  const burst = limit.burst === undefined ? "" : `, burst: ${limit.burst}`;
  return `, algorithm: ${limit.algorithm}${burst}`;
}
