/**
 * The page of a rule: what it did in the last hour, by value and key, where it
 * is written, and the YAML that would change it.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Code,
  Empty,
  FactList,
  formatCount,
  Live,
} from "../../shared/console/parts.tsx";
import { Bars } from "../../shared/console/plot.tsx";
import { Table } from "../../shared/console/table.tsx";
import type { WholeRuleReport } from "../activity/activity_report.ts";
import type { IndexedRule } from "../activity/rule_index.ts";
import { statDomain } from "../stats/stats.ts";
import { limitWords } from "../rules/snapshot.ts";
import { descriptorText } from "../rules/rule_yaml.ts";
import { ChangeForm } from "./change_form.tsx";
import { ExplainForm } from "./explain_form.tsx";
import { KeyTable } from "./key_table.tsx";
import {
  type ConsoleSource,
  descriptorOf,
  type PageCall,
  type PageContent,
  toHref,
} from "./page.ts";
import { toFigureColumns } from "./rule_parts.tsx";

/** Most values that are shown. */
const MAX_VALUES = 50;

/** Shows the rule with a name. */
export async function rulePage(
  name: string,
  { source, query }: PageCall,
): Promise<PageContent> {
  const found = (await source.reports.index())?.findName(name);
  if (found === undefined) {
    return {
      title: "No such rule",
      status: 404,
      content: (
        <Empty>
          No rule in force has this name.{" "}
          <a href={toHref("rules", { q: name })}>Search for it</a>
        </Empty>
      ),
    };
  }
  const report = source.reports.rule(found);
  const keys = (await source.reports.keys())
    ?.filter(({ rule }) => rule === found);
  const { rule, values } = report;
  return {
    title: name,
    content: (
      <>
        <p class="lead">
          {rule.limit === undefined ? "Unlimited" : limitWords(rule.limit)}
          {rule.shadowMode ? ", in shadow mode: it refuses nothing" : ""}
        </p>
        <div class="grid">
          <section aria-label="The rule">
            <Facts found={found} />
          </section>
          <section aria-label="The last hour">
            <Live id="plots">
              <Plots report={report} />
            </Live>
          </section>
        </div>
        <section aria-labelledby="keys">
          <h2 id="keys">Keys over the limit now</h2>
          <Live id="key-table">
            <KeyTable keys={keys} hasRule={false} />
          </Live>
        </section>
        {rule.hasDynamicPath
          ? (
            <section aria-labelledby="values">
              <h2 id="values">By value, in the last hour</h2>
              <Live id="value-table">
                <Values values={values} domain={rule.domain} />
              </Live>
            </section>
          )
          : null}
        <div class="grid">
          <section aria-labelledby="source">
            <h2 id="source">In the file</h2>
            <Source source={source} found={found} />
          </section>
          <section aria-labelledby="change">
            <h2 id="change">The YAML that would change it</h2>
            <ChangeForm found={found} query={query} />
          </section>
        </div>
        <section aria-labelledby="explain">
          <h2 id="explain">Explain a request</h2>
          <ExplainForm
            asked={{
              domain: rule.domain,
              descriptors: [
                descriptorOf(
                  rule.levels.map((
                    { key, value },
                  ) => [key, value.replaceAll("*", "")]),
                ),
              ],
              hits: "1",
              rules: "live",
            }}
            hasCandidate={source.explainers.candidate !== undefined}
          />
        </section>
      </>
    ),
  };
}

function Facts({ found }: { readonly found: IndexedRule }): VNode {
  const { rule, name, branch } = found;
  const others = branch.rules.filter((one) => one !== found);
  const yes = (flag: boolean): string | undefined => flag ? "yes" : undefined;
  return (
    <FactList
      facts={[
        [
          "Domain",
          <a href={toHref("rules", { at: rule.domain })}>{rule.domain}</a>,
        ],
        [
          "File",
          rule.line === undefined ? rule.file : `${rule.file}:${rule.line}`,
        ],
        ["Counts by", rule.limit?.algorithm.replaceAll("_", " ")],
        ["Name", rule.name],
        ["Replaces", rule.replaces.join(", ")],
        [
          "Beside it",
          others.map((one, index) => (
            <>
              {index === 0 ? "" : ", "}
              <a href={toHref("rules", { rule: one.name })}>{one.name}</a>
            </>
          )),
        ],
        ["Quota", yes(rule.quotaMode)],
        ["Shadow mode", yes(rule.shadowMode)],
        ["By value", yes(rule.hasDynamicPath)],
        [
          "Metadata",
          rule.metadata === undefined
            ? undefined
            : <code>{JSON.stringify(rule.metadata)}</code>,
        ],
        [
          "Statistics",
          <a
            href={toHref("statistics", {
              filter: `ratelimit.service.rate_limit.${name}.`,
            })}
          >
            {name}
          </a>,
        ],
      ]}
    />
  );
}

/** What is plotted; the later ones only if something happened. */
const PLOTS = [
  { figure: "hits", label: "Hits", isBad: false, isAlways: true },
  { figure: "over", label: "Over limit", isBad: true, isAlways: true },
  { figure: "near", label: "Near limit", isBad: false, isAlways: false },
  {
    figure: "shadow",
    label: "Let pass by shadow mode",
    isBad: false,
    isAlways: false,
  },
] as const;

function Plots(
  { report: { history, recent } }: { readonly report: WholeRuleReport },
): VNode {
  return (
    <>
      {PLOTS.map(({ figure, label, isBad, isAlways }) =>
        !isAlways && recent.hour[figure] === 0 ? null : (
          <div class="field">
            <p>
              {`${label}: `}
              <strong>{formatCount(recent.minute[figure])}</strong>
              {" in the last minute, "}
              <strong>{formatCount(recent.hour[figure])}</strong>
              {" in the last hour"}
            </p>
            <Bars
              label={`${label} in each minute of the last hour`}
              values={history[figure]}
              isBad={isBad}
              format={(value) => formatCount(value)}
            />
          </div>
        )
      )}
    </>
  );
}

function Values(
  { values, domain }: Pick<WholeRuleReport, "values"> & {
    readonly domain: string;
  },
): VNode {
  if (values.length === 0) return <Empty>There were no hits.</Empty>;
  return (
    <>
      <Table
        label="By value"
        rows={values.slice(0, MAX_VALUES)}
        columns={[
          {
            name: "Value",
            cell: ({ path }) => path.slice(statDomain(domain).length + 1),
          },
          ...toFigureColumns<typeof values[number]>((row) => row),
        ]}
      />
      {values.length <= MAX_VALUES ? null : (
        <p class="dim">
          {`The first ${MAX_VALUES} of ${values.length} values.`}
        </p>
      )}
    </>
  );
}

function Source(
  { source, found: { rule } }: {
    readonly source: ConsoleSource;
    readonly found: IndexedRule;
  },
): VNode {
  const document = source.documents.inForce()
    .find((one) => "text" in one && one.name === rule.file);
  if (
    document === undefined || !("text" in document) || rule.line === undefined
  ) {
    return <p class="dim">{`The text of ${rule.file} is not known.`}</p>;
  }
  return (
    <Code
      id="file"
      name={`${rule.file}, from line ${rule.line}`}
      text={descriptorText(document.text, rule.line)}
    />
  );
}
