/**
 * The HTTP routes of the debug port.
 *
 * @module
 */

import { describeRules, type Snapshot } from "../rules/snapshot.ts";
import { statsJson, statsText } from "../stats/page.ts";
import type { StatsRegistry } from "../stats/registry.ts";
import type { Route } from "./router.ts";

/** The parts behind the routes. */
export interface DebugRoutesOptions {
  /** The current rules; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  /** All statistics. */
  readonly registry: StatsRegistry;
}

const PAGES: readonly { readonly path: string; readonly help: string }[] = [
  { path: "/", help: "this list" },
  { path: "/rlconfig", help: "the rules in force, a line each" },
  {
    path: "/stats",
    help: "all statistics; ?filter=TEXT keeps names with TEXT, " +
      "?format=json gives JSON",
  },
];

/** `/`, `/rlconfig` and `/stats`. */
export function debugRoutes(options: DebugRoutesOptions): Route[] {
  return [
    {
      method: "GET",
      path: "/",
      handle: () =>
        textPage(PAGES.map(({ path, help }) => `${path}: ${help}\n`).join("")),
    },
    {
      method: "GET",
      path: "/rlconfig",
      handle: () => textPage(rulesText(options.snapshot())),
    },
    {
      method: "GET",
      path: "/stats",
      handle: (request) => statsPage(request, options.registry),
    },
  ];
}

function rulesText(snapshot: Snapshot | undefined): string {
  if (snapshot === undefined) return "no rate limit configuration loaded\n";
  return describeRules(snapshot).map((line) => `${line}\n`).join("");
}

function statsPage(request: Request, registry: StatsRegistry): Response {
  const query = new URL(request.url).searchParams;
  const filter = query.get("filter") ?? "";
  const snapshot = registry.snapshot();
  return query.get("format") === "json"
    ? Response.json(statsJson(snapshot, { filter }))
    : textPage(statsText(snapshot, { filter }));
}

function textPage(text: string): Response {
  return new Response(text, {
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}
