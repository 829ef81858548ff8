/**
 * The page of all statistics, and of the profiles that the debug port takes.
 *
 * @module
 */

import type { VNode } from "preact";
import { TextField } from "../../shared/console/form.tsx";
import { Code } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import { PROFILES } from "../api/debug_routes.ts";
import { statsJson } from "../stats/page.ts";
import type { PageCall, PageContent } from "./page.ts";

/** Most statistics that are shown: a browser lays out all of them at once. */
const MAX_ROWS = 500;

/** Shows the statistics whose names contain a text. */
export function statisticsPage({ source, query }: PageCall): PageContent {
  const filter = query.get("filter") ?? "";
  const { stats } = statsJson(source.registry.snapshot(), filter);
  const rows = stats.slice(0, MAX_ROWS);
  return {
    title: "Statistics",
    content: (
      <>
        <form class="filters section" role="search">
          <TextField
            name="filter"
            label="Names with"
            type="search"
            value={filter}
            isSearch
          />
          <button type="submit">Show</button>
        </form>
        <p class="dim" role="status">
          {`${stats.length} statistics`}
          {stats.length > MAX_ROWS
            ? `, of which the first ${MAX_ROWS} are shown; `
            : "; "}
          <a href={`/stats?${new URLSearchParams({ filter, format: "text" })}`}>
            all as text
          </a>
        </p>
        <section aria-label="Statistics">
          <Table
            label="Statistics"
            rows={rows}
            columns={[
              { name: "Name", cell: ({ name }) => name },
              {
                name: "Value",
                isNumber: true,
                cell: ({ value }) => shownValue(value),
              },
            ]}
          />
        </section>
        <Profiles />
      </>
    ),
  };
}

function shownValue(
  value: ReturnType<typeof statsJson>["stats"][number]["value"],
): string {
  return typeof value === "number"
    ? value.toLocaleString("en", { maximumFractionDigits: 3 })
    : `${value.count}; p50 ${value.p50Ms}, p99 ${value.p99Ms}, ` +
      `max ${value.maxMs} ms`;
}

function Profiles(): VNode {
  return (
    <section aria-labelledby="profiles">
      <h2 id="profiles">Profiles</h2>
      <p>
        <a href="/debug/pprof/profile?seconds=10">CPU, 10 s, for pprof</a>
        {" · "}
        <a href="/debug/pprof/profile?seconds=10&format=cpuprofile">
          CPU, 10 s, for DevTools
        </a>
        {" · "}
        <a href="/debug/pprof/heap">heap snapshot</a>
      </p>
      <Code id="profile" name="From a terminal" text={PROFILES} />
    </section>
  );
}
