/**
 * A table of the keys that are over their limits.
 *
 * @module
 */

import type { VNode } from "preact";
import { Empty } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { KeyReport } from "../activity/activity_report.ts";
import { shownRate } from "../api/activity_pages.ts";
import { descriptorOf, toExplainHref, toHref } from "./page.ts";

/** Shows keys; undefined where the search for them is off. */
export function KeyTable(
  { keys, hasRule = true }: {
    readonly keys: readonly KeyReport[] | undefined;
    /** Whether there is a column with the rule. @default {true} */
    readonly hasRule?: boolean;
  },
): VNode {
  if (keys === undefined) {
    return <Empty>No keys are shown: TOP_KEYS is false.</Empty>;
  }
  if (keys.length === 0) return <Empty>No key is over its limit now.</Empty>;
  return (
    <Table
      label="Keys over limit"
      rows={keys}
      columns={[
        { name: "Key", cell: (key) => <KeyCell found={key} /> },
        ...(hasRule
          ? [{
            name: "Rule",
            cell: ({ rule }: KeyReport) =>
              rule === undefined
                ? <span class="dim">limit of a request</span>
                : (
                  <a href={toHref("rules", { rule: rule.name })}>{rule.name}</a>
                ),
          }]
          : []),
        {
          name: "Refusals a minute",
          isNumber: true,
          cell: ({ perMinute, maxError }) => (
            <>
              {shownRate(perMinute)}
              {maxError < 1
                ? null
                : <span class="dim">{` − ${Math.ceil(maxError)}`}</span>}
            </>
          ),
        },
      ]}
    />
  );
}

function KeyCell(
  { found: { rule, entries, key } }: { readonly found: KeyReport },
): VNode {
  if (rule === undefined || entries === undefined) return <code>{key}</code>;
  const text = descriptorOf(entries);
  // The form of a descriptor has no way to write a comma.
  const hasComma = entries.some((entry) => entry.join().split(",").length > 2);
  return hasComma ? <code>{text}</code> : (
    <a
      href={toExplainHref(rule.rule.domain, entries)}
      title="Explain this request"
    >
      <code>{text}</code>
    </a>
  );
}
