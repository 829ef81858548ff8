/**
 * What a page of the console is given, and what it answers.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import type { ActivityReports } from "../activity/activity_report.ts";
import type { Explainers } from "../api/explain_page.ts";
import type { CandidateReport } from "../candidate/comparison.ts";
import type { ConfigDocument } from "../rules/load.ts";
import type { StatsRegistry } from "../stats/registry.ts";

/** What the console shows. */
export interface ConsoleSource {
  /** Tells what rules did, and what happened. */
  readonly reports: ActivityReports;
  /** All statistics. */
  readonly registry: StatsRegistry;
  /** The explainers of decisions. */
  readonly explainers: Explainers;
  /** Report on the candidate; undefined for a service without one. */
  readonly candidate: () => CandidateReport | undefined;
  /** Why the service is not healthy; empty when it is. */
  readonly faults: () => readonly string[];
  /** Where counters are kept, in words. */
  readonly store: string;
  /** The rule files. */
  readonly documents: {
    /** Those whose rules are in force. */
    readonly inForce: () => readonly ConfigDocument[];
    /** Those that were read last, refused or not. */
    readonly lastRead: () => readonly ConfigDocument[];
  };
}

/** A request for a page. */
export interface PageCall {
  /** What there is to show. */
  readonly source: ConsoleSource;
  /** The parameters of the query. */
  readonly query: URLSearchParams;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/** A page to be shown. */
export interface PageContent {
  /** The title. */
  readonly title: string;
  /**
   * The heading.
   *
   * @default the title
   */
  readonly heading?: VNode;
  /**
   * What stands beside the heading.
   *
   * @default nothing
   */
  readonly actions?: ComponentChildren;
  /** The content. */
  readonly content: ComponentChildren;
  /**
   * The HTTP status.
   *
   * @default {200}
   */
  readonly status?: number;
}

/** Makes a page. */
export type Page = (call: PageCall) => PageContent | Promise<PageContent>;

/** The path of the console, with which all its paths begin. */
export const CONSOLE_PATH = "/console";

/** The pages of the console, in the order in which they are shown. */
export const CONSOLE_PAGES = {
  rules: { path: CONSOLE_PATH, text: "Rules" },
  keys: { path: `${CONSOLE_PATH}/keys`, text: "Keys over limit" },
  explain: { path: `${CONSOLE_PATH}/explain`, text: "Explain" },
  candidate: { path: `${CONSOLE_PATH}/candidate`, text: "Candidate" },
  timeline: { path: `${CONSOLE_PATH}/timeline`, text: "Timeline" },
  statistics: { path: `${CONSOLE_PATH}/statistics`, text: "Statistics" },
} as const;

/** The names of the pages. */
export type PageName = keyof typeof CONSOLE_PAGES;

/** Returns the address of a page with a query; a value may come repeatedly. */
export function toHref(
  page: PageName,
  query: Readonly<Record<string, string | readonly string[] | undefined>> = {},
): string {
  const pairs = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().map((one) => [name, one])
  );
  const { path } = CONSOLE_PAGES[page];
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}

/** Returns the address that explains a request of one descriptor. */
export function toExplainHref(
  domain: string,
  entries: readonly (readonly [key: string, value: string])[],
): string {
  return toHref("explain", { domain, descriptors: descriptorOf(entries) });
}

/** Returns a descriptor as the explain form takes it. */
export function descriptorOf(
  entries: readonly (readonly [key: string, value: string])[],
): string {
  return entries.map(([key, value]) => `${key}=${value}`).join(",");
}
