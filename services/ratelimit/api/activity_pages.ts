/**
 * The pages `/debug/activity`, `/debug/keys` and `/debug/timeline`: what the
 * rules did lately, which keys are over their limits, and what happened.
 *
 * @module
 */

import {
  type ActivityReports,
  byOverLimit,
  type KeyReport,
  type RuleReport,
  type WholeRuleReport,
} from "../activity/activity_report.ts";
import type { RecentFigures, RuleFigures } from "../activity/rule_activity.ts";
import type { TimelineEvent } from "../activity/timeline.ts";
import { describeRule } from "../rules/snapshot.ts";
import type { DebugPage } from "./debug_page.ts";

const NO_RULES = "no rate limit configuration loaded";

/**
 * Makes the page of all rules with hits within the last hour, or of the rule
 * with the name `?rule=`.
 */
export async function activityPage(
  query: URLSearchParams,
  reports: ActivityReports,
): Promise<DebugPage> {
  const name = query.get("rule");
  if (name !== null) return await ruleActivityPage(name, reports);
  const report = await reports.report();
  if (report === undefined) return fault(NO_RULES, 503);
  const filter = query.get("filter") ?? "";
  const rules = [...report.rules.values()]
    .filter((rule) => rule.name.includes(filter))
    .sort(byOverLimit(({ recent }) => recent));
  return {
    text: () =>
      rules.map((rule) => `${ruleLine(rule)}\n`).join("") +
      (report.others.hour.hits > 0
        ? `others: ${recentText(report.others)}\n`
        : ""),
    json: () => ({ rules: rules.map(ruleJson), others: report.others }),
  };
}

async function ruleActivityPage(
  name: string,
  reports: ActivityReports,
): Promise<DebugPage> {
  const found = (await reports.index())?.findName(name);
  if (found === undefined) {
    return fault("Cannot show the rule: no rule has that name", 404);
  }
  const report = reports.rule(found);
  const keys = (await reports.keys())?.filter(({ rule }) => rule === found);
  return {
    text: () =>
      [
        ruleLine(report),
        ...report.values.map(({ path, ...recent }) =>
          `  ${path}: ${recentText(recent)}`
        ),
        ...(keys ?? []).map((key) => `  ${keyLine(key)}`),
      ].map((line) => `${line}\n`).join(""),
    json: () => wholeJson(report, keys),
  };
}

/** Makes the page of the keys that are over their limits most often. */
export async function keysPage(reports: ActivityReports): Promise<DebugPage> {
  const keys = await reports.keys();
  return {
    text: () =>
      keys === undefined
        ? "no keys: TOP_KEYS is false\n"
        : keys.map((key) => `${keyLine(key)}\n`).join(""),
    json: () => ({ keys: keys?.map(keyJson) ?? null }),
  };
}

/** Makes the page of what happened, the last first. */
export function timelinePage(reports: ActivityReports): DebugPage {
  const events = reports.events();
  return {
    text: () => events.map((event) => `${eventLine(event)}\n`).join(""),
    json: () => ({
      events: events.map(({ timeMs, ...event }) => ({
        time: new Date(timeMs).toISOString(),
        ...event,
      })),
    }),
  };
}

function fault(reason: string, status: 404 | 503): DebugPage {
  return {
    status,
    text: () => `${reason}\n`,
    json: () => ({ error: reason }),
  };
}

function ruleLine({ name, rule, recent }: RuleReport): string {
  return `${name}: ${recentText(recent)}; ${describeRule(rule)}`;
}

function recentText({ minute, hour }: RecentFigures): string {
  return `last minute ${figuresText(minute)}; last hour ${figuresText(hour)}`;
}

function figuresText({ hits, over, near, shadow }: RuleFigures): string {
  return `${hits} hits, ${over} over, ${near} near, ${shadow} in shadow`;
}

function keyLine(
  { rule, key, entries, perMinute, maxError }: KeyReport,
): string {
  const what = entries?.map(([name, value]) => `${name}=${value}`).join(",");
  const error = maxError >= 1 ? `, up to ${Math.ceil(maxError)} fewer` : "";
  return `${rule?.name ?? "limit of a request"}: ` +
    `${JSON.stringify(what ?? key)}: ${shownRate(perMinute)} a minute${error}`;
}

/** Returns a rate in as many digits as it deserves. */
export function shownRate(perMinute: number): string {
  return perMinute >= 10 ? String(Math.round(perMinute)) : perMinute.toFixed(1);
}

function eventLine(event: TimelineEvent): string {
  const { timeMs, level, area, text, times, fields } = event;
  const rest = Object.entries(fields)
    .map(([name, value]) => ` ${name}=${JSON.stringify(value)}`).join("");
  const often = times > 1 ? ` (${times} times)` : "";
  return `${new Date(timeMs).toISOString()} ${level} ${area}: ${text}${often}` +
    rest;
}

function ruleJson({ name, rule, recent }: RuleReport): unknown {
  return { rule: name, limit: describeRule(rule), ...recent };
}

function wholeJson(
  report: WholeRuleReport,
  keys: readonly KeyReport[] | undefined,
): unknown {
  const { history, values, rule } = report;
  return {
    ...ruleJson(report) as Record<string, unknown>,
    file: rule.file,
    line: rule.line ?? null,
    history,
    values,
    keys: keys?.map(keyJson) ?? null,
  };
}

function keyJson({ rule, entries, ...rest }: KeyReport): unknown {
  return { rule: rule?.name ?? null, entries: entries ?? null, ...rest };
}
