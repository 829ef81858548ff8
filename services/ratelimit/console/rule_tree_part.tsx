/**
 * Draws the tree of rules: branches fold, and each line has its figures.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import type { ActivityReport } from "../activity/activity_report.ts";
import type { RecentFigures } from "../activity/rule_activity.ts";
import type { RuleBranch } from "../activity/rule_index.ts";
import { toHref } from "./page.ts";
import { Amount, FIGURE_COLUMNS, LimitWords } from "./rule_parts.tsx";
import {
  type BranchRow,
  PAGE_BRANCHES,
  type RuleOrder,
  type RuleRow,
  viewTree,
} from "./rule_tree.ts";

/** Rules of a tree that is shown unfolded. */
const MAX_UNFOLDED = 40;

/** Shows the tree below a branch. */
export function RuleTree(
  { report, branch, order, from }: {
    readonly report: ActivityReport;
    readonly branch: RuleBranch;
    readonly order: RuleOrder;
    /** How many branches are on the pages before. */
    readonly from: number;
  },
): VNode {
  const { rules, rows, total } = viewTree(report, { branch, order, from });
  const isOpen = branch.ruleCount <= MAX_UNFOLDED;
  const until = from + rows.length;
  const toPage = (from: number): string =>
    toHref("rules", { at: branch.names, order, from: String(from) });
  return (
    <>
      {branch.names.length === 0
        ? null
        : <Trail branch={branch} order={order} />}
      <div class="tree">
        <div class="line names" aria-hidden="true">
          <span>Rule</span>
          {FIGURE_COLUMNS.map(({ name }) => <span>{name}</span>)}
        </div>
        <ul>
          {rules.map((row) => <RuleLine row={row} name={nameOf(row)} />)}
          {rows.map((row) => (
            <Branch
              row={row}
              order={order}
              isOpen={isOpen || rows.length === 1}
            />
          ))}
          {hasSiblings(branch) || report.others.hour.hits === 0 ? null : (
            <li>
              <Line recent={report.others}>
                <span class="dim">
                  limits of requests, rules that are gone, and what
                  STATS_MAX_NAMES has no room for
                </span>
              </Line>
            </li>
          )}
        </ul>
      </div>
      {total <= PAGE_BRANCHES
        ? null
        : (
          <nav class="pager" aria-label="Pages of the list">
            {from === 0 ? null : (
              <a
                class="button"
                href={toPage(Math.max(0, from - PAGE_BRANCHES))}
              >
                Previous page
              </a>
            )}
            <span class="dim">{`${from + 1} to ${until} of ${total}`}</span>
            {until >= total
              ? null
              : <a class="button" href={toPage(until)} rel="next">Next page</a>}
          </nav>
        )}
    </>
  );
}

/** Whether a page of a branch lacks some of the rules. */
function hasSiblings({ parent }: RuleBranch): boolean {
  return parent !== undefined &&
    (parent.children.size > 1 || hasSiblings(parent));
}

/** The way from all rules to a branch. */
function Trail(
  { branch: { names }, order }: {
    readonly branch: RuleBranch;
    readonly order: RuleOrder;
  },
): VNode {
  return (
    <nav aria-label="Branch" class="section">
      <a href={toHref("rules", { order })}>All rules</a>
      {names.map((name, index) => (
        <>
          {" / "}
          {index === names.length - 1 ? <span>{name}</span> : (
            <a
              href={toHref("rules", { at: names.slice(0, index + 1), order })}
            >
              {name}
            </a>
          )}
        </>
      ))}
    </nav>
  );
}

function Branch(
  { row, order, isOpen }: {
    readonly row: BranchRow;
    readonly order: RuleOrder;
    readonly isOpen: boolean;
  },
): VNode {
  const { branch, recent, rules, below } = row;
  const name = branch.names.at(-1)!;
  if (branch.children.size === 0) {
    return (
      <>
        {rules.map((one) => <RuleLine row={one} name={nameOf(one)} />)}
      </>
    );
  }
  const count = `${branch.ruleCount} ${
    branch.ruleCount === 1 ? "rule" : "rules"
  }`;
  if (below === undefined) {
    return (
      <li>
        <Line recent={recent}>
          <a href={toHref("rules", { at: branch.names, order })}>{name}</a>
          <span class="dim">{count}</span>
        </Line>
      </li>
    );
  }
  return (
    <li>
      <details open={isOpen} id={`at ${branch.names.join("\n")}`}>
        <summary>
          <Line recent={recent}>
            {name}
            <span class="dim">{count}</span>
          </Line>
        </summary>
        <ul>
          {rules.map((one) => <RuleLine row={one} name={nameOf(one)} />)}
          {below.map((one) => (
            <Branch
              row={one}
              order={order}
              isOpen={isOpen}
            />
          ))}
        </ul>
      </details>
    </li>
  );
}

function RuleLine(
  { row, name }: { readonly row: RuleRow; readonly name: string },
): VNode {
  return (
    <li>
      <Line recent={row.recent}>
        <a href={toHref("rules", { rule: row.name })}>{name}</a>{" "}
        <LimitWords rule={row.rule} />
      </Line>
    </li>
  );
}

/** The last level of a rule, and what tells it from others there. */
function nameOf({ branch, rule }: RuleRow): string {
  const last = branch.names.at(-1)!;
  return rule.label === "" ? last : `${last} · ${rule.label}`;
}

/** A line with its figures, which have their names where columns have none. */
function Line(
  { recent, children }: {
    readonly recent: RecentFigures;
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <span class="line">
      <span>{children}</span>
      {FIGURE_COLUMNS.map(({ name, get, isBad }) => (
        <span>
          <i>{`${name}: `}</i>
          <Amount value={get(recent)} isBad={isBad} />
        </span>
      ))}
    </span>
  );
}
