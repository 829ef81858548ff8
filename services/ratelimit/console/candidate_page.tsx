/**
 * The page of the candidate: how its rules would decide, compared with those in
 * force.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  Empty,
  formatCount,
  Live,
  Note,
  Tiles,
  Time,
} from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import { DIFFERENCE_WORDS } from "../api/candidate_page.ts";
import type { RuleIndex } from "../activity/rule_index.ts";
import type { CandidateReport } from "../candidate/comparison.ts";
import type { CountedDifference } from "../candidate/differences.ts";
import { type PageCall, type PageContent, toHref } from "./page.ts";

/** Most differences that are shown. */
const MAX_ROWS = 200;

/** Shows the differences of the candidate. */
export async function candidatePage(
  { source, query }: PageCall,
): Promise<PageContent> {
  const report = source.candidate();
  const index = await source.reports.index();
  return {
    title: "Candidate",
    content: report === undefined
      ? (
        <Empty>
          There are no candidate rules. <code>CANDIDATE_CONFIG_DIR</code>{" "}
          names a directory of rules that see the same requests, decide nothing,
          and are compared with those in force.
        </Empty>
      )
      : (
        <Live id="candidate">
          <Report report={report} index={index} kind={query.get("kind")} />
        </Live>
      ),
  };
}

function Report(
  { report, index, kind }: {
    readonly report: CandidateReport;
    /** The rules in force. */
    readonly index: RuleIndex | undefined;
    /** The kind of differences that are shown; null for all. */
    readonly kind: string | null;
  },
): VNode {
  const { snapshot, sinceSeconds, totals } = report;
  if (snapshot === undefined) {
    return (
      <Note tone="bad">
        <p>
          {"No candidate could be loaded yet. "}
          <a href={toHref("timeline", { area: "candidate" })}>See why</a>
        </p>
      </Note>
    );
  }
  const rows = report.differences
    .filter((row) => kind === null || row.kind === kind);
  return (
    <>
      <p>
        {`${snapshot.rules.length} rules in ${snapshot.domainNames.length} ${
          snapshot.domainNames.length === 1 ? "domain" : "domains"
        }, since `}
        <Time at={new Date(sinceSeconds * 1_000).toISOString()} />
        {`. ${formatCount(totals.requests_compared)} requests compared, ` +
          `${formatCount(totals.requests_dropped)} dropped, ` +
          `${formatCount(totals.requests_failed)} failed; of their ` +
          `descriptors ${formatCount(totals.same)} were decided alike, ` +
          `and of ${formatCount(totals.too_early)} it is too early to ` +
          "tell."}
      </p>
      <Tiles
        tiles={Object.entries(DIFFERENCE_WORDS).map(([kind, words]) => {
          const value = totals[kind as keyof typeof DIFFERENCE_WORDS];
          const isChange = kind.startsWith("would");
          return {
            name: words,
            value: formatCount(value),
            href: toHref("candidate", { kind }),
            ...(value > 0 && isChange ? { tone: "bad" as const } : {}),
          };
        })}
      />
      {kind === null ? null : (
        <p>
          <a href={toHref("candidate")}>Show all kinds of differences</a>
        </p>
      )}
      {rows.length === 0
        ? (
          <Empty>
            There are no such differences since these rules were loaded.
          </Empty>
        )
        : <Differences rows={rows.slice(0, MAX_ROWS)} index={index} />}
      {report.otherDifferences === 0 && rows.length <= MAX_ROWS
        ? null
        : (
          <p class="dim">
            {`${
              report.otherDifferences + Math.max(0, rows.length - MAX_ROWS)
            } more are not shown.`}
          </p>
        )}
    </>
  );
}

function Differences(
  { rows, index }: {
    readonly rows: readonly CountedDifference[];
    readonly index: RuleIndex | undefined;
  },
): VNode {
  return (
    <Table
      label="Differences"
      rows={rows}
      columns={[
        {
          name: "Candidate",
          cell: ({ kind }) => (
            <Badge tone={kind.startsWith("would") ? "bad" : "calm"}>
              {DIFFERENCE_WORDS[kind]}
            </Badge>
          ),
        },
        {
          name: "Times",
          isNumber: true,
          cell: ({ count }) => formatCount(count),
        },
        {
          name: "In force",
          cell: ({ live, liveLimit }) => <Side rule={live} limit={liveLimit} />,
        },
        {
          name: "Candidate's rule",
          cell: ({ candidate, candidateLimit }) => (
            <Side rule={candidate} limit={candidateLimit} />
          ),
        },
        {
          name: "Last",
          cell: ({ lastSeconds }) => (
            <Time at={new Date(lastSeconds * 1_000).toISOString()} />
          ),
        },
        {
          name: "First for",
          cell: ({ live, example }) => (
            <Example
              domain={index?.findName(live)?.rule.domain}
              descriptor={JSON.parse(example)}
            />
          ),
        },
      ]}
    />
  );
}

/** A descriptor, which leads to its explanation by the candidate's rules. */
function Example(
  { domain, descriptor }: {
    readonly domain: string | undefined;
    readonly descriptor: string;
  },
): VNode {
  if (domain === undefined) return <code>{descriptor}</code>;
  const query = { domain, descriptors: descriptor, rules: "candidate" };
  return (
    <a href={toHref("explain", query)}>
      <code>{descriptor}</code>
    </a>
  );
}

function Side(
  { rule, limit }: { readonly rule: string; readonly limit: string },
): VNode {
  return (
    <div>
      {rule}
      <div class="dim">{limit}</div>
    </div>
  );
}
