/**
 * The rules in force as a tree, by their names, and by the paths of their
 * statistics.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import { fixedStatPath } from "../decision/stat_path.ts";
import { formatKeyValue, type Rule, type Snapshot } from "../rules/snapshot.ts";
import { statPathText } from "../stats/stats.ts";

/** A domain, or a descriptor of the configuration. */
export interface RuleBranch {
  /** Names from the domain to here: a level's is `key` or `key_value`. */
  readonly names: readonly string[];
  /** Its rules: several where the descriptor has several limits. */
  readonly rules: readonly IndexedRule[];
  /** The branches below, in the order of the files. */
  readonly children: ReadonlyMap<string, RuleBranch>;
  /** Number of rules here and below. */
  readonly ruleCount: number;
  /** The branch above; undefined for the root, whose branches are domains. */
  readonly parent: RuleBranch | undefined;
}

interface GrowingBranch extends RuleBranch {
  readonly rules: IndexedRule[];
  readonly children: Map<string, GrowingBranch>;
  readonly parent: GrowingBranch | undefined;
  ruleCount: number;
}

/** A rule and where it stands. */
export interface IndexedRule {
  /** The rule. */
  readonly rule: Rule;
  /** Its path in statistics. */
  readonly path: string;
  /** Its name in statistics: the path with dots. */
  readonly name: string;
  /** Its place in the tree. */
  readonly branch: RuleBranch;
}

/** Finds rules; made once for each snapshot. */
export class RuleIndex {
  /** The branch above all domains. */
  readonly root: RuleBranch = growBranch([], undefined);
  readonly #byPath = new Map<string, IndexedRule>();
  readonly #byName = new Map<string, IndexedRule>();

  private constructor() {}

  /** Makes an index, a few rules at a time between other work. */
  static async make(
    { rules }: Snapshot,
    pausing: Pausing,
  ): Promise<RuleIndex> {
    const index = new RuleIndex();
    for (const rule of rules) {
      index.#add(rule);
      await pausing.pause();
    }
    return index;
  }

  /** Returns the rule of a path of statistics. */
  findPath(path: string): IndexedRule | undefined {
    return this.#byPath.get(path);
  }

  /** Returns the rule of a name. */
  findName(name: string): IndexedRule | undefined {
    return this.#byName.get(name);
  }

  /** Returns the branch with these names from the domain on. */
  findBranch(names: readonly string[]): RuleBranch | undefined {
    return names.reduce<RuleBranch | undefined>(
      (branch, name) => branch?.children.get(name),
      this.root,
    );
  }

  /** All rules, in the order of the files. */
  list(): Iterable<IndexedRule> {
    return this.#byPath.values();
  }

  #add(rule: Rule): void {
    let branch = this.root as GrowingBranch;
    branch.ruleCount++;
    for (const name of [rule.domain, ...rule.levels.map(formatKeyValue)]) {
      let next = branch.children.get(name);
      if (next === undefined) {
        next = growBranch([...branch.names, name], branch);
        branch.children.set(name, next);
      }
      branch = next;
      branch.ruleCount++;
    }
    const path = fixedStatPath(rule);
    const indexed = { rule, path, name: statPathText(path), branch };
    branch.rules.push(indexed);
    this.#byPath.set(path, indexed);
    this.#byName.set(indexed.name, indexed);
  }
}

function growBranch(
  names: readonly string[],
  parent: GrowingBranch | undefined,
): GrowingBranch {
  return { names, rules: [], children: new Map(), ruleCount: 0, parent };
}
