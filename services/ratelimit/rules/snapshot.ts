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
import { type LimitUnit, UNIT_SECONDS } from "./unit.ts";
import type { WildcardSet } from "./wildcard.ts";

/** A limit, with all values that a decision needs. */
export interface Limit {
  /** Requests allowed in one window, an unsigned 32-bit value. */
  readonly requestsPerUnit: number;
  /**
   * The unit as the answer names it: for a window of another length the unit
   * nearest to it.
   */
  readonly unit: LimitUnit;
  /** Length of the window in seconds. */
  readonly windowSeconds: number;
  /** Name of the window in counter keys and texts: `day`, or `15m`. */
  readonly window: string;
  /** Algorithm by which hits are counted. */
  readonly algorithm: Algorithm;
  /**
   * Requests that a full token bucket holds; undefined for the other
   * algorithms.
   */
  readonly burst: number | undefined;
}

/**
 * One level of a rule, as configured, and how it shows in statistics and
 * counter keys.
 */
export interface RuleLevel extends KeyLevel {
  /**
   * True when the statistics path shows the request's value here, unless the
   * level shares a pattern.
   */
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
  /**
   * Name by which another rule replaces this one; empty when it has no name.
   */
  readonly name: string;
  /** Names of the rules this one replaces. */
  readonly replaces: readonly string[];
  /** True when the decision by this rule is always OK. */
  readonly shadowMode: boolean;
  /** True when the rule refuses only when all quotas of a call are used up. */
  readonly quotaMode: boolean;
  /**
   * True when statistics are kept by the values of the request at every level.
   */
  readonly detailedMetric: boolean;
  /** Metadata that the proxy gets when the rule matched. */
  readonly metadata: JsonObject | undefined;
  /** The levels from the top to this rule. */
  readonly levels: readonly RuleLevel[];
  /** The file or resource that the rule comes from. */
  readonly file: string;
  /**
   * Line where the rule begins in it, counted from 1; undefined when unknown.
   */
  readonly line: number | undefined;
  /** True when the statistics path depends on the request. */
  readonly hasDynamicPath: boolean;
  /**
   * What tells the rule from others of its descriptor in the statistics: a name
   * or its window; empty for the rule by `rate_limit`.
   */
  readonly label: string;
  /** The other rules of the descriptor, which count beside this one. */
  readonly others: readonly Rule[];
}

/**
 * A descriptor of the configuration: a rule, a way to deeper descriptors, or
 * both.
 */
export interface RuleNode {
  /** The rule; undefined when this node sets no limit. */
  readonly rule: Rule | undefined;
  /** The next level; undefined when there is no deeper descriptor. */
  readonly children: RuleTable | undefined;
}

/** All rules of one level under one key. */
export interface KeyRules {
  /** Rules with an exact value, by that value. */
  readonly exact: ByteMap<RuleNode>;
  /**
   * Rules whose value has an asterisk, in the order of the file: the first
   * match wins.
   */
  readonly wildcards: WildcardSet<RuleNode>;
  /** The rule for any value. */
  readonly any: RuleNode | undefined;
}

/** All rules of one level. */
export interface RuleTable {
  /** The rules by key. */
  readonly keys: ByteMap<KeyRules>;
}

/** The rules of one domain. */
export interface DomainRules {
  /** The domain. */
  readonly domain: string;
  /** The rules of the top level. */
  readonly table: RuleTable;
  /** Beginning of every counter key of the domain, escaped. */
  readonly keyPrefix: Uint8Array;
  /** False when a call that one limit refuses is not counted by the others. */
  readonly countWhenLimited: boolean;
}

/** A descriptor of the configuration that sets no limit. */
interface Passage {
  /** Tells it from a rule. */
  readonly id: undefined;
  /** The domain it belongs to. */
  readonly domain: string;
  /** The levels from the top to here. */
  readonly levels: readonly RuleLevel[];
}

/** All rules of the service at one time. */
export interface Snapshot {
  /** The rules by domain. */
  readonly domains: ByteMap<DomainRules>;
  /** Every rule that has a limit or is unlimited, by its id. */
  readonly rules: readonly Rule[];
  /** All descriptors, in the order they were loaded. */
  readonly descriptors: readonly (Rule | Passage)[];
  /** Names of the domains, in the order they were loaded. */
  readonly domainNames: readonly string[];
  /** Parts of the rules' counter keys. */
  readonly ruleKeys: RuleKeys;
}

/** What {@linkcode matchDescriptor} sees at one level. */
export interface MatchStep {
  /** Index of the request's entry that is looked up. */
  readonly entry: number;
  /** The rules of the level; undefined below the deepest level. */
  readonly table: RuleTable | undefined;
  /** The rules with the entry's key. */
  readonly rules: KeyRules | undefined;
  /** The descriptor that matched. */
  readonly node: RuleNode | undefined;
}

/**
 * Finds the rule of a descriptor by walking its entries down the levels: at
 * each one the exact value is tried first, then the wildcards in the order of
 * the file, then the key alone. The walk never goes back to another branch.
 *
 * @param steps Takes what was seen at each level, for explanations.
 * @returns The node at the last entry; undefined when no node matches, or when
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

/** Returns the path as configured: `domain.key_value.key…`. */
export function formatPath(
  { domain, levels }: {
    /** The domain. */
    readonly domain: string;
    /** The levels from the top. */
    readonly levels: readonly RuleLevel[];
  },
): string {
  return [domain, ...levels.map(formatKeyValue)].join(".");
}

/**
 * Returns a level as configured: the key, with `_` and the value or pattern if
 * there is one.
 */
export function formatKeyValue({ key, value }: RuleLevel): string {
  return value === "" ? key : `${key}_${value}`;
}

/**
 * Returns one line for each rule, in the order of the files. The unit of an
 * unlimited rule is UNKNOWN, as with the service that this one replaces. The
 * algorithm is shown unless it is the fixed window.
 */
export function describeRules(snapshot: Snapshot): string[] {
  return snapshot.rules.map((rule) =>
    `${formatPath(rule)}: ${describeRule(rule)}`
  );
}

/** Describes a rule in the form of `/rlconfig`. */
export function describeRule(rule: Rule): string {
  const unit = rule.limit?.unit ?? "UNKNOWN";
  const requests = rule.limit?.requestsPerUnit ?? 0;
  return `unit=${unit} requests_per_unit=${requests}, ` +
    `shadow_mode: ${rule.shadowMode}, quota_mode: ${rule.quotaMode}` +
    describeWindow(rule.limit) + describeAlgorithm(rule.limit) +
    (rule.label === "" ? "" : `, limit: ${rule.label}`);
}

/**
 * Returns a limit in words, such as `10 per MINUTE`; the algorithm is left out
 * when it is the default.
 */
export function limitWords(limit: Limit): string {
  const { requestsPerUnit, algorithm, burst } = limit;
  const how = algorithm === "fixed_window" ? "" : `, ${algorithm}`;
  const most = burst === undefined ? "" : `, burst ${burst}`;
  return `${requestsPerUnit} per ${windowWords(limit)}${how}${most}`;
}

/** Returns the window of a limit in words: its unit, or `15m`. */
export function windowWords(limit: Limit): string {
  return isUnitWindow(limit) ? limit.unit : limit.window;
}

function describeWindow(limit: Limit | undefined): string {
  return limit === undefined || isUnitWindow(limit)
    ? ""
    : `, window: ${limit.window}`;
}

/** True when a limit's window is as long as the unit that the answer names. */
export function isUnitWindow(
  { unit, windowSeconds }: Pick<Limit, "unit" | "windowSeconds">,
): boolean {
  return UNIT_SECONDS[unit] === windowSeconds;
}

function describeAlgorithm(limit: Limit | undefined): string {
  if (limit === undefined || limit.algorithm === "fixed_window") return "";
  const burst = limit.burst === undefined ? "" : `, burst: ${limit.burst}`;
  return `, algorithm: ${limit.algorithm}${burst}`;
}
