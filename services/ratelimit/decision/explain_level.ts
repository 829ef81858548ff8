/**
 * Explains why the rules of one level match an entry or do not.
 *
 * @module
 */

import type { RequestView } from "../../../proto/request_view.ts";
import type { KeyRules, MatchStep, RuleNode } from "../rules/snapshot.ts";

/** A rule of a level, and whether it matched. */
interface Candidate {
  /** The key, with `_` and the value or pattern if there is one. */
  readonly rule: string;
  /** True for the rule that matched. */
  readonly isMatch: boolean;
  /** Why the rule matched, or why it did not. */
  readonly why: string;
}

/** One level of rules, as the matcher looked at it for one entry. */
export interface ExplainedLevel {
  /** The entry as `key=value`. */
  readonly entry: string;
  /** The rules with the entry's key, the one that matched first. */
  readonly candidates: readonly Candidate[];
  /** How many rules with the entry's key are not listed. */
  readonly omitted: number;
}

/** Most rules that are listed for a level. */
const MAX_CANDIDATES = 20;

/** Explains a step of the matcher. */
export function explainLevel(
  step: MatchStep,
  view: RequestView,
): ExplainedLevel {
  const { entry, rules, node } = step;
  const key = view.keyText(entry);
  const value = view.valueText(entry);
  const all = rules === undefined
    ? []
    : listCandidates(rules, { view, entry, key, value, node });
  const candidates = [
    ...all.filter(({ isMatch }) => isMatch),
    ...all.filter(({ isMatch }) => !isMatch),
  ].slice(0, MAX_CANDIDATES);
  const total = rules === undefined
    ? 0
    : rules.exact.size + rules.wildcards.size +
      (rules.any === undefined ? 0 : 1);
  return {
    entry: `${key}=${value}`,
    candidates,
    omitted: total - candidates.length,
  };
}

interface Entry {
  readonly view: RequestView;
  readonly entry: number;
  readonly key: string;
  readonly value: string;
  /** What the matcher chose. */
  readonly node: RuleNode | undefined;
}

/**
 * Lists the rules with the entry's key, in the order in which the matcher
 * looks.
 */
function listCandidates(rules: KeyRules, from: Entry): Candidate[] {
  const { view, entry, key, value, node } = from;
  const { bytes } = view;
  const start = view.valueStart(entry);
  const end = view.valueEnd(entry);
  const candidates: Candidate[] = [];
  const exact = rules.exact.get(bytes, start, end);
  if (exact !== undefined) {
    const why = "it names this value";
    candidates.push({ rule: `${key}_${value}`, isMatch: true, why });
  }
  const before = exact !== undefined
    ? "the exact value comes first"
    : "an earlier pattern comes first";
  for (const { wildcard, found: own } of rules.wildcards) {
    const isMatch = own === node;
    const why = isMatch
      ? "its pattern matches"
      : wildcard.matches(bytes, start, end)
      ? `its pattern matches too, but ${before}`
      : "its pattern does not match";
    candidates.push({ rule: `${key}_${wildcard.pattern}`, isMatch, why });
  }
  if (rules.any !== undefined) {
    const isMatch = rules.any === node;
    const why = isMatch
      ? "it matches every value"
      : "it matches every value, but a more specific rule comes first";
    candidates.push({ rule: key, isMatch, why });
  }
  const decoder = new TextDecoder();
  for (const [other] of rules.exact.entries()) {
    if (candidates.length > MAX_CANDIDATES) break;
    const text = decoder.decode(other);
    if (text === value) continue;
    const why = "it names another value";
    candidates.push({ rule: `${key}_${text}`, isMatch: false, why });
  }
  return candidates;
}
