/**
 * The page `/debug/candidate`: how the candidate rules would decide, compared
 * with the rules in force.
 *
 * @module
 */

import type { CandidateReport } from "../candidate/comparison.ts";
import type { DebugPage } from "./debug_page.ts";

const NONE = "there is no candidate: CANDIDATE_CONFIG_DIR is not set";

/** How a candidate differs, in words. */
export const DIFFERENCE_WORDS = {
  would_refuse: "would refuse",
  would_allow: "would allow",
  other_limit: "other limit",
  other_rule: "other rule",
} as const;

/** Makes the page; `report` is undefined for a service without a candidate. */
export function candidatePage(
  report: CandidateReport | undefined,
): DebugPage {
  if (report === undefined) {
    return {
      text: () => `${NONE}\n`,
      json: () => ({ candidate: null }),
    };
  }
  return {
    text: () => reportText(report),
    json: () => reportJson(report),
  };
}

function headLines(report: CandidateReport): string[] {
  const { snapshot, totals } = report;
  const rules = snapshot === undefined
    ? "candidate: none could be loaded yet; the log says why"
    : `candidate: ${snapshot.domainNames.length} domains, ` +
      `${snapshot.rules.length} rules, since ${timeText(report.sinceSeconds)}`;
  return [
    rules,
    `requests: ${totals.requests_compared} compared, ` +
    `${totals.requests_would_refuse} would be refused, ` +
    `${totals.requests_would_allow} would be allowed, ` +
    `${totals.requests_dropped} dropped, ${totals.requests_failed} failed`,
    `descriptors: ${totals.compared} compared, ${totals.same} the same, ` +
    `${totals.too_early} too early to tell`,
  ];
}

function reportText(report: CandidateReport): string {
  const lines = headLines(report);
  if (report.differences.length === 0) lines.push("", "no differences");
  for (const row of report.differences) {
    lines.push(
      "",
      `${DIFFERENCE_WORDS[row.kind]}: ${row.count} times`,
      `  in force   ${row.live}: ${row.liveLimit}`,
      `  candidate  ${row.candidate}: ${row.candidateLimit}`,
      `  from ${timeText(row.firstSeconds)} to ${timeText(row.lastSeconds)}, ` +
        `first for ${row.example}`,
    );
  }
  if (report.otherDifferences > 0) {
    lines.push("", `${report.otherDifferences} of further rules`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

function reportJson(report: CandidateReport): unknown {
  const { snapshot, sinceSeconds, totals } = report;
  return {
    candidate: snapshot === undefined ? null : {
      domains: snapshot.domainNames.length,
      rules: snapshot.rules.length,
      since: timeText(sinceSeconds),
    },
    totals,
    differences: report.differences.map(
      ({ firstSeconds, lastSeconds, example, ...row }) => ({
        ...row,
        first: timeText(firstSeconds),
        last: timeText(lastSeconds),
        // The example is a JSON string already.
        example: JSON.parse(example),
      }),
    ),
    otherDifferences: report.otherDifferences,
  };
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
