/**
 * Tells how loaded rules differ from those before.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import {
  describeRule,
  formatPath,
  type Rule,
  type Snapshot,
} from "../rules/snapshot.ts";

/** The differences of two sets of rules. */
interface RuleChanges {
  /** Number of rules that are new. */
  readonly added: number;
  /** Number of rules that are gone. */
  readonly removed: number;
  /** Number of rules whose limit or fields are others. */
  readonly changed: number;
  /** The first differences, a line each. */
  readonly lines: readonly string[];
}

/** Most differences that are told one by one. */
const MAX_LINES = 20;

/**
 * Compares rules by their paths, a few at a time between other work. The order
 * of rules is not compared.
 */
export async function findRuleChanges(
  { before, after }: {
    /** The rules before. */
    readonly before: Snapshot;
    /** The rules now. */
    readonly after: Snapshot;
  },
  pausing: Pausing,
): Promise<RuleChanges> {
  const old = new Map<string, Rule>();
  for (const rule of before.rules) {
    old.set(keyOf(rule), rule);
    await pausing.pause();
  }
  const lines: string[] = [];
  const counts = { added: 0, removed: 0, changed: 0 };
  const note = (kind: keyof typeof counts, line: () => string): void => {
    counts[kind]++;
    if (lines.length < MAX_LINES) lines.push(line());
  };
  for (const rule of after.rules) {
    const known = old.get(keyOf(rule));
    old.delete(keyOf(rule));
    if (known === undefined) {
      note("added", () => `added ${formatPath(rule)}: ${describeRule(rule)}`);
    } else if (fieldsOf(known) !== fieldsOf(rule)) {
      note("changed", () => {
        const [was, is] = [describeRule(known), describeRule(rule)];
        const how = was === is ? `${is}, other fields` : `${was} -> ${is}`;
        return `changed ${formatPath(rule)}: ${how}`;
      });
    }
    await pausing.pause();
  }
  for (const rule of old.values()) {
    note("removed", () => `removed ${formatPath(rule)}: ${describeRule(rule)}`);
  }
  return { ...counts, lines };
}

function keyOf(rule: Rule): string {
  return `${formatPath(rule)}\n${rule.label}`;
}

/** All that a decision by the rule depends on, and its statistics. */
function fieldsOf(rule: Rule): string {
  const { limit, replaces, shadowMode, quotaMode, detailedMetric } = rule;
  return JSON.stringify([
    ...[limit, replaces, shadowMode, quotaMode, detailedMetric],
    ...[rule.name, rule.metadata],
    rule.levels.map((level) => [level.shareThreshold, level.valueToMetric]),
  ]);
}
