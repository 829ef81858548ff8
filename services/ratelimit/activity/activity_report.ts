/**
 * Reports of the rules for the console and the debug pages: what each did lately,
 * the keys over their limits, and what happened.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { CounterKeyFormat } from "../rules/counter_key.ts";
import { counterKeyEntries } from "../rules/counter_key_entries.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import type { OverLimitBoard, OverLimitKeys } from "./over_limit_keys.ts";
import {
  addRecent,
  type PathActivity,
  type RecentFigures,
  type RuleActivity,
  type RuleHistory,
} from "./rule_activity.ts";
import { type IndexedRule, type RuleBranch, RuleIndex } from "./rule_index.ts";
import type { Timeline, TimelineEvent } from "./timeline.ts";

/** What is told of one rule. */
export interface RuleReport extends IndexedRule {
  /** What it did lately. */
  readonly recent: RecentFigures;
}

/** All that is told of one rule. */
export interface WholeRuleReport extends RuleReport {
  /** What it did in each minute of the last hour. */
  readonly history: RuleHistory;
  /** What it did by value, where its statistics show values. */
  readonly values: readonly PathActivity[];
}

/** A counter that refuses often. */
export interface KeyReport {
  /** Its rule; undefined for a limit of a request, and a rule that is gone. */
  readonly rule: IndexedRule | undefined;
  /** The key in the store, without the start of its window. */
  readonly key: string;
  /** The entries of its descriptor; undefined when they can't be told. */
  readonly entries:
    | readonly (readonly [key: string, value: string])[]
    | undefined;
  /** Refusals a minute. */
  readonly perMinute: number;
  /** By how much that may be too large. */
  readonly maxError: number;
}

/** What all rules did. */
export interface ActivityReport {
  /** The rules in force. */
  readonly index: RuleIndex;
  /** What the rules with hits did, by their paths. */
  readonly rules: ReadonlyMap<string, RuleReport>;
  /** What the rules of each branch with hits did together. */
  readonly branches: ReadonlyMap<RuleBranch, RecentFigures>;
  /**
   * Counts that belong to no rule in force: limits of requests, removed rules,
   * and values without room for statistics of their own.
   */
  readonly others: RecentFigures;
}

/** What did nothing. */
export const NO_FIGURES: RecentFigures = {
  minute: { hits: 0, over: 0, near: 0, within: 0, shadow: 0 },
  hour: { hits: 0, over: 0, near: 0, within: 0, shadow: 0 },
};

/** The parts of an {@linkcode ActivityReports}. */
interface ActivityReportsOptions {
  /** Returns the rules in force; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  /** Samples what rules do. */
  readonly activity: RuleActivity;
  /** Finds the keys of this thread; undefined when that is off. */
  readonly overLimitKeys: OverLimitKeys | undefined;
  /** Has the keys of the other threads. */
  readonly board: OverLimitBoard;
  /** Has what happened. */
  readonly timeline: Timeline;
  /** How counter keys are written. */
  readonly keyFormat: CounterKeyFormat;
  /** Lets decisions run in between. */
  readonly pausing: Pausing;
}

/** Most keys that are told of. */
const MAX_KEYS = 100;

/** Makes the reports when they are asked for. */
export class ActivityReports {
  readonly #options: ActivityReportsOptions;
  #indexed:
    | { readonly of: Snapshot; readonly index: Promise<RuleIndex> }
    | undefined;

  /** Makes nothing yet. */
  constructor(options: ActivityReportsOptions) {
    this.#options = options;
  }

  /** Returns the events, the last first. */
  events(): readonly TimelineEvent[] {
    return this.#options.timeline.list();
  }

  /** Returns the rules in force; undefined before the first. */
  async index(): Promise<RuleIndex | undefined> {
    const of = this.#options.snapshot();
    if (of === undefined) return undefined;
    if (this.#indexed?.of !== of) {
      this.#indexed = { of, index: RuleIndex.make(of, this.#options.pausing) };
    }
    return await this.#indexed.index;
  }

  /** Returns what all rules did; undefined before the first rules. */
  async report(): Promise<ActivityReport | undefined> {
    const index = await this.index();
    if (index === undefined) return undefined;
    const rules = new Map<string, RuleReport>();
    const branches = new Map<RuleBranch, RecentFigures>();
    let others = NO_FIGURES;
    for (const [path, recent] of this.#options.activity.byRule()) {
      await this.#options.pausing.pause();
      const found = index.findPath(path);
      if (found === undefined) others = addRecent(others, recent);
      else rules.set(path, { ...found, recent });
      let branch: RuleBranch | undefined = found?.branch;
      for (; branch !== undefined; branch = branch.parent) {
        const before = branches.get(branch);
        branches.set(
          branch,
          before === undefined ? recent : addRecent(before, recent),
        );
      }
    }
    return { index, rules, branches, others };
  }

  /** Returns all that is told of a rule. */
  rule(indexed: IndexedRule): WholeRuleReport {
    const { activity } = this.#options;
    const paths = activity.paths(indexed.path);
    return {
      ...indexed,
      recent: paths.reduce<RecentFigures>(addRecent, NO_FIGURES),
      history: activity.history(indexed.path),
      values: indexed.rule.hasDynamicPath
        ? paths.toSorted(byOverLimit((path) => path))
        : [],
    };
  }

  /**
   * Returns the keys that are over their limits most often; undefined when
   * the search for them is off.
   */
  async keys(): Promise<readonly KeyReport[] | undefined> {
    const { overLimitKeys, board, keyFormat: format } = this.#options;
    if (overLimitKeys === undefined) return undefined;
    board.replace(0, overLimitKeys.top(MAX_KEYS));
    const index = await this.index();
    return board.list().slice(0, MAX_KEYS).map(({ rule: path, ...found }) => {
      const rule = path === undefined ? undefined : index?.findPath(path);
      const entries = rule &&
        counterKeyEntries(found.key, { rule: rule.rule, format });
      return { ...found, rule, entries };
    });
  }
}

/**
 * Orders by hits over the limit within the last hour, then by hits, the most
 * first.
 */
export function byOverLimit<T>(
  get: (item: T) => RecentFigures,
): (left: T, right: T) => number {
  return (left, right) => {
    const [a, b] = [get(left).hour, get(right).hour];
    return b.over - a.over || b.hits - a.hits;
  };
}
