/**
 * The first page of the console: what all rules did lately, as a tree, and what
 * needs attention.
 *
 * @module
 */

import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../shared/console/form.tsx";
import {
  Code,
  Empty,
  formatCount,
  Live,
  Note,
  Tiles,
} from "../../shared/console/parts.tsx";
import type { ActivityReport } from "../activity/activity_report.ts";
import type { TimelineEvent } from "../activity/timeline.ts";
import { linesAround } from "../rules/rule_yaml.ts";
import {
  type ConsoleSource,
  type PageCall,
  type PageContent,
  toHref,
} from "./page.ts";
import { rulePage } from "./rule_page.tsx";
import { RuleTable } from "./rule_parts.tsx";
import {
  ORDERS,
  PAGE_RULES,
  type RuleOrder,
  searchRules,
} from "./rule_tree.ts";
import { RuleTree } from "./rule_tree_part.tsx";

/** Most rules that a search shows. */
const MAX_FOUND = 100;

/** Shows all rules; or one, which `?rule=` names. */
export async function rulesPage(call: PageCall): Promise<PageContent> {
  const { source, query } = call;
  const name = query.get("rule");
  if (name !== null) return await rulePage(name, call);
  const report = await source.reports.report();
  const order = readOrder(query);
  return {
    title: "Rules",
    content: (
      <>
        <Attention source={source} />
        {report === undefined ? <Empty>No rules are loaded yet.</Empty> : (
          <>
            <Live id="totals">
              <Totals report={report} />
            </Live>
            <Search query={query} order={order} />
            <Live id="rules">
              <Rules report={report} query={query} order={order} />
            </Live>
          </>
        )}
      </>
    ),
  };
}

function readOrder(query: URLSearchParams): RuleOrder {
  const asked = query.get("order");
  return ORDERS.find((order) => order === asked) ?? "over";
}

/** What needs attention: an unhealthy service, refused files. */
function Attention({ source }: { readonly source: ConsoleSource }): VNode {
  const refused = refusedLast(source.reports.events());
  return (
    <>
      {source.faults().map((fault) => (
        <Note tone="bad">
          <p>{`The service is not healthy: ${fault}.`}</p>
        </Note>
      ))}
      {refused.length === 0 ? null : (
        <Note tone="bad">
          {refused.map(({ text }) => <p>{text}</p>)}
          {refused.slice(0, 3).map((event, index) => (
            <FaultLines source={source} event={event} index={index} />
          ))}
          <p>
            <a href={toHref("timeline", { area: "rules" })}>All loads</a>
          </p>
        </Note>
      )}
    </>
  );
}

/** Returns the faults of the rules that were loaded last; none if they work. */
function refusedLast(
  events: readonly TimelineEvent[],
): readonly TimelineEvent[] {
  const loads = events.filter(({ area, level, text }) =>
    area === "rules" && (level === "error" || text.startsWith("Loaded "))
  );
  const end = loads.findIndex(({ level }) => level !== "error");
  return loads.slice(0, end === -1 ? loads.length : end).reverse();
}

/** The lines of the file around a fault, while it is as it was read. */
function FaultLines(
  { source, event, index }: {
    readonly source: ConsoleSource;
    readonly event: TimelineEvent;
    readonly index: number;
  },
): VNode | null {
  const [, file = "", line = ""] = /: ([^:]+):(\d+): /.exec(event.text) ?? [];
  const document = source.documents.lastRead()
    .find((one) => "text" in one && one.name === file);
  if (document === undefined || !("text" in document)) return null;
  return (
    <Code
      id={`fault-${index}`}
      name={`${file}, line ${line}`}
      text={linesAround(document.text, Number(line))}
    />
  );
}

function Totals({ report }: { readonly report: ActivityReport }): VNode {
  const { index, branches } = report;
  const { minute, hour } = branches.get(index.root) ??
    { minute: report.others.minute, hour: report.others.hour };
  const shown = (value: number): string => formatCount(value);
  return (
    <Tiles
      tiles={[
        {
          name: "hits in the last minute",
          value: shown(minute.hits),
          href: toHref("rules"),
        },
        {
          name: "over limit",
          value: shown(minute.over),
          href: toHref("keys"),
          ...(minute.over > 0 ? { tone: "bad" as const } : {}),
        },
        {
          name: "near limit",
          value: shown(minute.near),
          href: toHref("rules"),
          ...(minute.near > 0 ? { tone: "warn" as const } : {}),
        },
        {
          name: "over limit in the last hour",
          value: shown(hour.over),
          href: toHref("keys"),
        },
        {
          name: index.root.ruleCount === 1 ? "rule" : "rules",
          value: shown(index.root.ruleCount),
          href: toHref("rules", { order: "file" }),
        },
      ]}
    />
  );
}

function Search(
  { query, order }: {
    readonly query: URLSearchParams;
    readonly order: RuleOrder;
  },
): VNode {
  return (
    <form class="filters section" role="search">
      <TextField
        name="q"
        label="Rules with"
        type="search"
        value={query.get("q") ?? ""}
        placeholder="part of a name"
        isSearch
      />
      <ChoiceField
        name="order"
        label="Order"
        value={order}
        choices={[
          ["over", "most over limit"],
          ["name", "name"],
          ["file", "as in the files"],
        ]}
      />
      <button type="submit">Show</button>
    </form>
  );
}

function Rules(
  { report, query, order }: {
    readonly report: ActivityReport;
    readonly query: URLSearchParams;
    readonly order: RuleOrder;
  },
): VNode {
  const text = query.get("q") ?? "";
  if (text === "") {
    const { root } = report.index;
    const [only, ...more] = root.children.values();
    // A single domain that has no room below all rules is shown by itself.
    const isOnly = more.length === 0 && root.ruleCount > PAGE_RULES;
    const branch = query.has("at")
      ? report.index.findBranch(query.getAll("at"))
      : isOnly
      ? only
      : root;
    if (branch === undefined) return <Empty>No rules are there now.</Empty>;
    const from = Number(/^\d{1,6}$/.exec(query.get("from") ?? "")?.[0] ?? 0);
    return (
      <RuleTree report={report} branch={branch} order={order} from={from} />
    );
  }
  const found = searchRules(report, { text, order });
  if (found.length === 0) return <Empty>No rule has that in its name.</Empty>;
  return (
    <>
      <p class="dim" role="status">
        {`${found.length} ${found.length === 1 ? "rule" : "rules"}`}
        {found.length > MAX_FOUND ? `, of which ${MAX_FOUND} are shown` : ""}
      </p>
      <RuleTable rows={found.slice(0, MAX_FOUND)} />
    </>
  );
}
