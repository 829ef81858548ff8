/**
 * Chooses which part of the tree of rules a page shows: all of a small tree,
 * and of a large one a level at a time.
 *
 * @module
 */

import {
  type ActivityReport,
  byOverLimit,
  NO_FIGURES,
} from "../activity/activity_report.ts";
import type { RecentFigures } from "../activity/rule_activity.ts";
import type { IndexedRule, RuleBranch } from "../activity/rule_index.ts";

/** A rule in the tree. */
export interface RuleRow extends IndexedRule {
  /** What it did. */
  readonly recent: RecentFigures;
}

/** A branch in the tree. */
export interface BranchRow {
  /** The branch. */
  readonly branch: RuleBranch;
  /** What its rules did together. */
  readonly recent: RecentFigures;
  /** Its own rules. */
  readonly rules: readonly RuleRow[];
  /** What is below it; undefined where that is on a page of its own. */
  readonly below: readonly BranchRow[] | undefined;
}

/** A level of the tree. */
export interface TreeView {
  /** The rules of the branch itself. */
  readonly rules: readonly RuleRow[];
  /** The branches below it, of this page. */
  readonly rows: readonly BranchRow[];
  /** How many branches there are on all pages. */
  readonly total: number;
}

/** The orders of branches and rules. */
export const ORDERS = ["over", "name", "file"] as const;

/** An order of branches and rules. */
export type RuleOrder = typeof ORDERS[number];

/** Branches of a page. */
export const PAGE_BRANCHES = 50;
/** Rules of a page, as far as they are below its branches. */
export const PAGE_RULES = 250;

/**
 * Returns the branches below a branch, with what is below them as long as the
 * page has room.
 */
export function viewTree(
  report: ActivityReport,
  { branch, order, from = 0 }: {
    /** The branch. */
    readonly branch: RuleBranch;
    /** The order of what is shown. */
    readonly order: RuleOrder;
    /** How many branches are on the pages before. @default {0} */
    readonly from?: number;
  },
): TreeView {
  const shown = sortBranches(report, branch, order)
    .slice(from, from + PAGE_BRANCHES);
  let room = PAGE_RULES - shown.length;
  const fitting = new Set<RuleBranch>();
  const fits = (one: RuleBranch): boolean => {
    // A branch that fits has room for all that is below it.
    if (!fitting.has(one.parent!)) {
      if (one.ruleCount > room) return false;
      room -= one.ruleCount;
    }
    fitting.add(one);
    return true;
  };
  const toRow = (one: RuleBranch): BranchRow => ({
    branch: one,
    recent: report.branches.get(one) ?? NO_FIGURES,
    rules: listRules(report, one),
    below: one.children.size === 0 || fits(one)
      ? sortBranches(report, one, order).map(toRow)
      : undefined,
  });
  return {
    rules: listRules(report, branch),
    rows: shown.map(toRow),
    total: branch.children.size,
  };
}

function listRules(
  { rules }: ActivityReport,
  branch: RuleBranch,
): readonly RuleRow[] {
  return branch.rules.map((one) => ({
    ...one,
    recent: rules.get(one.path)?.recent ?? NO_FIGURES,
  }));
}

function sortBranches(
  { branches }: ActivityReport,
  { children }: RuleBranch,
  order: RuleOrder,
): readonly RuleBranch[] {
  const all = [...children.values()];
  switch (order) {
    case "file":
      return all;
    case "name":
      return all.sort((left, right) =>
        left.names.at(-1)! < right.names.at(-1)! ? -1 : 1
      );
    case "over":
      return all.sort(byOverLimit((one) => branches.get(one) ?? NO_FIGURES));
  }
}

/** Returns the rules whose names contain a text, in an order. */
export function searchRules(
  { index, rules }: ActivityReport,
  { text, order }: {
    /** The text; its case does not matter. */
    readonly text: string;
    /** The order. */
    readonly order: RuleOrder;
  },
): readonly RuleRow[] {
  const sought = text.toLowerCase();
  const found: RuleRow[] = [];
  for (const one of index.list()) {
    if (!one.name.toLowerCase().includes(sought)) continue;
    found.push({ ...one, recent: rules.get(one.path)?.recent ?? NO_FIGURES });
  }
  if (order === "name") {
    found.sort((left, right) => left.name < right.name ? -1 : 1);
  }
  return order === "over"
    ? found.sort(byOverLimit(({ recent }) => recent))
    : found;
}
