/**
 * How rules and what they did are shown.
 *
 * @module
 */

import type { VNode } from "preact";
import { formatCount } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { RecentFigures } from "../activity/rule_activity.ts";
import { limitWords, type Rule } from "../rules/snapshot.ts";
import { toHref } from "./page.ts";
import type { RuleRow } from "./rule_tree.ts";

/** A limit in words, and what is special about the rule. */
export function LimitWords({ rule }: { readonly rule: Rule }): VNode {
  return (
    <span class="dim">
      {rule.limit === undefined ? "unlimited" : limitWords(rule.limit)}
      {rule.shadowMode ? ", in shadow mode" : ""}
      {rule.quotaMode ? ", quota" : ""}
    </span>
  );
}

/** A number of hits; nothing happened where it is 0. */
export function Amount(
  { value, isBad = false }: {
    readonly value: number;
    /** Whether it is bad unless it is 0. @default {false} */
    readonly isBad?: boolean;
  },
): VNode {
  if (value === 0) return <span class="dim">0</span>;
  return <span class={isBad ? "bad" : undefined}>{formatCount(value)}</span>;
}

/** The columns of what something did. */
export const FIGURE_COLUMNS: readonly {
  /** The name. */
  readonly name: string;
  /** Returns the figure. */
  readonly get: (recent: RecentFigures) => number;
  /** Whether the figure is bad unless it is 0. */
  readonly isBad: boolean;
}[] = [
  { name: "Hits, min", get: ({ minute }) => minute.hits, isBad: false },
  { name: "Over, min", get: ({ minute }) => minute.over, isBad: true },
  { name: "Hits, hour", get: ({ hour }) => hour.hits, isBad: false },
  { name: "Near, hour", get: ({ hour }) => hour.near, isBad: false },
  { name: "Over, hour", get: ({ hour }) => hour.over, isBad: true },
];

/** Makes columns of a table of what its rows did. */
export function toFigureColumns<Row>(
  get: (row: Row) => RecentFigures,
): Parameters<typeof Table<Row>>[0]["columns"] {
  return FIGURE_COLUMNS.map((column) => ({
    name: column.name,
    isNumber: true,
    cell: (row) => <Amount value={column.get(get(row))} isBad={column.isBad} />,
  }));
}

/** Rules one below the other. */
export function RuleTable(
  { rows }: { readonly rows: readonly RuleRow[] },
): VNode {
  return (
    <Table<RuleRow>
      label="Rules"
      rows={rows}
      columns={[
        {
          name: "Rule",
          cell: ({ name }) => (
            <a href={toHref("rules", { rule: name })}>{name}</a>
          ),
        },
        { name: "Limit", cell: ({ rule }) => <LimitWords rule={rule} /> },
        ...toFigureColumns<RuleRow>(({ recent }) => recent),
      ]}
    />
  );
}
