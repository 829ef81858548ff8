/**
 * The routes of the debug port: one table of pages, and who may see them.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { HttpHandler, HttpRequest } from "../../shared/http/exchange.ts";
import {
  attributeHtml,
  codeHtml,
  preHtml,
  textHtml,
} from "../../shared/http/html.ts";
import { tableHtml } from "../../shared/http/html_page.ts";
import {
  isLoopbackAddress,
  localHostFault,
} from "../../shared/http/client_address.ts";
import { describeRules, type Snapshot } from "../rules/snapshot.ts";
import type { CandidateReport } from "../candidate/comparison.ts";
import { type StatReading, statsJson, statsText } from "../stats/page.ts";
import type { StatsRegistry } from "../stats/registry.ts";
import { candidatePage } from "./candidate_page.ts";
import { countersPage } from "./counters_page.ts";
import {
  cpuProfileAnswer,
  type CpuProfiler,
  heapSnapshotAnswer,
} from "./profiles.ts";
import {
  debugAnswer,
  type DebugLink,
  type DebugPage,
  parseQuery,
} from "./debug_page.ts";
import { type Explainers, explainPage } from "./explain_page.ts";
import { problem } from "./problem.ts";
import type { Route } from "./router.ts";

/** The parts behind the routes. */
interface DebugRoutesOptions {
  /** Returns the current rules; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  /** All statistics. */
  readonly registry: StatsRegistry;
  /** Takes CPU profiles. */
  readonly profiler: CpuProfiler;
  /**
   * Report on the candidate rules; undefined for a service without a candidate.
   */
  readonly candidate: () => CandidateReport | undefined;
  /** The explainers of decisions. */
  readonly explainers: Explainers;
  /** Takes a line for each reset of counters. */
  readonly logger: Pick<Logger, "info">;
  /** Address of the port, and whether clients on other machines may use it. */
  readonly access: DebugAccess;
}

/** Who may use the debug port. */
interface DebugAccess {
  /** The setting DEBUG_HOST. */
  readonly host: string;
  /** The setting DEBUG_ALLOW_REMOTE. */
  readonly allowRemote: boolean;
}

/**
 * A path of the debug port, answered by a page in its forms or by a handler.
 */
type DebugEntry =
  & DebugLink
  & (
    | {
      readonly page: (request: HttpRequest) => DebugPage | Promise<DebugPage>;
      /** A method that the page answers beside GET. */
      readonly alsoBy?: "POST" | "DELETE" | undefined;
    }
    | { readonly handle: HttpHandler }
  );

/** The pages of the debug port; a new page is a new entry here. */
function debugEntries(options: DebugRoutesOptions): readonly DebugEntry[] {
  const { registry, profiler } = options;
  return [
    {
      path: "/rlconfig",
      help: "the rules in force, a line each",
      page: () => rulesPage(options.snapshot()),
    },
    {
      path: "/stats",
      help: "all statistics; ?filter=TEXT keeps names with TEXT, " +
        "?format=json gives JSON",
      page: (request) => statsPage(parseQuery(request), registry),
    },
    {
      path: "/debug/explain",
      help:
        "which rule applies to a request, why the others do not, and what " +
        "its counters hold; ?domain=D&descriptors=K=V,K=V, or POST of JSON",
      page: (request) => explainPage(request, options.explainers),
      alsoBy: "POST",
    },
    {
      path: "/debug/counters",
      help: "the counters that a request touches; ?domain=D&descriptors=K=V," +
        "K=V; DELETE resets them",
      page: (request) =>
        countersPage(request, {
          explainer: options.explainers.live,
          logger: options.logger,
        }),
      alsoBy: "DELETE",
    },
    {
      path: "/debug/candidate",
      help: "how the rules of CANDIDATE_CONFIG_DIR would decide what is asked",
      page: () => candidatePage(options.candidate()),
    },
    {
      path: "/debug/pprof",
      help: "profiles, and what opens them",
      page: profilesPage,
    },
    {
      path: "/debug/pprof/profile",
      help: "a CPU profile of ?seconds=30, for pprof; " +
        "?format=cpuprofile gives the form of Chrome's DevTools",
      handle: (request) => cpuProfileAnswer(request, profiler),
    },
    {
      path: "/debug/pprof/heap",
      help: "a heap snapshot for Chrome's DevTools; decisions wait meanwhile",
      handle: () => heapSnapshotAnswer(),
    },
  ];
}

/**
 * Returns all routes of the debug port, `/` among them, which lists the others.
 */
export function debugRoutes(options: DebugRoutesOptions): Route[] {
  const entries = debugEntries(options);
  const root: DebugEntry = {
    path: "/",
    help: "this list",
    page: () => listPage(all),
  };
  const all: readonly DebugEntry[] = [root, ...entries];
  const links = all.filter((entry) => "page" in entry);
  return all.flatMap((entry) => {
    const handle = (request: HttpRequest) => {
      const fault = accessFault(request, options.access);
      if (fault !== undefined) return problem({ status: 403, detail: fault });
      if ("handle" in entry) return entry.handle(request);
      const page = entry.page(request);
      return page instanceof Promise
        ? page.then((settled) => debugAnswer(request, { page: settled, links }))
        : debugAnswer(request, { page, links });
    };
    const { path } = entry;
    const get: Route = { method: "GET", path, handle };
    const method = "page" in entry ? entry.alsoBy : undefined;
    return method === undefined ? [get] : [get, { method, path, handle }];
  });
}

function accessFault(
  { headers, peer }: HttpRequest,
  { host, allowRemote }: DebugAccess,
): string | undefined {
  if (!allowRemote && !isLoopbackAddress(peer.address)) {
    return "Cannot show this page: only clients on this machine may see it, " +
      "unless DEBUG_ALLOW_REMOTE is true";
  }
  return localHostFault(
    { host: headers.get("host"), address: peer.address },
    { host, setting: "DEBUG_HOST", tells: "what this port shows" },
  );
}

function listPage(links: readonly DebugLink[]): DebugPage {
  return {
    title: "/",
    text: () => links.map(({ path, help }) => `${path}: ${help}\n`).join(""),
    html: () => {
      const items = links.map(({ path, help }) =>
        `<dt><a href="${path}">${codeHtml(path)}</a></dt>
<dd>${textHtml(help)}</dd>`
      );
      return `<dl>${items.join("\n")}</dl>`;
    },
  };
}

const NO_RULES = "no rate limit configuration loaded";

function rulesPage(snapshot: Snapshot | undefined): DebugPage {
  const lines = snapshot === undefined ? [NO_RULES] : describeRules(snapshot);
  return {
    title: "/rlconfig",
    text: () => lines.map((line) => `${line}\n`).join(""),
    json: () => ({ rules: snapshot === undefined ? [] : lines }),
    html: () => {
      if (snapshot === undefined) return `<p>${NO_RULES}</p>`;
      const rows = lines.map((line) => {
        const end = line.lastIndexOf(": unit=");
        return [line.slice(0, end), line.slice(end + 2)];
      });
      return tableHtml({ label: "Rules", head: ["Rule", "Limit"], rows });
    },
  };
}

function statsPage(
  query: URLSearchParams,
  registry: StatsRegistry,
): DebugPage {
  const filter = query.get("filter") ?? "";
  const snapshot = registry.snapshot();
  return {
    title: "/stats",
    text: () => statsText(snapshot, filter),
    json: () => statsJson(snapshot, filter),
    html: () => statsHtml(snapshot, filter),
  };
}

/** Most rows of a table in a browser, which lays out all rows at once. */
const MAX_HTML_ROWS = 2_000;

function statsHtml(snapshot: readonly StatReading[], filter: string): string {
  const { stats } = statsJson(snapshot, filter);
  const rows = stats.slice(0, MAX_HTML_ROWS).map(({ name, value }) => [
    name,
    typeof value === "number" ? value : Object.entries(value)
      .map(([figure, amount]) => `${figure} ${amount}`).join(", "),
  ]);
  const more = stats.length - rows.length;
  return `<form role="search"><label for="filter">Names with</label>
<input id="filter" name="filter" type="search" value="${attributeHtml(filter)}">
<button>Show</button></form>
<p>${stats.length} statistics${
    more > 0 ? `; the first ${rows.length} are shown` : ""
  }</p>
${tableHtml({ label: "Statistics", head: ["Name", "Value"], rows })}`;
}

const PROFILES = `CPU, ten seconds:
  go tool pprof http://127.0.0.1:6070/debug/pprof/profile?seconds=10
  curl -o ratelimit.pb.gz http://127.0.0.1:6070/debug/pprof/profile?seconds=10
  curl -o ratelimit.cpuprofile \\
    'http://127.0.0.1:6070/debug/pprof/profile?seconds=10&format=cpuprofile'
The first form is pprof's, which speedscope opens as well; the second is that of
Chrome's DevTools (Performance, Load profile) and of Visual Studio Code.

Heap, for Chrome's DevTools (Memory, Load profile):
  curl -o ratelimit.heapsnapshot http://127.0.0.1:6070/debug/pprof/heap
No decision is made while it is taken, about a second for each 50 MB of heap.
`;

function profilesPage(): DebugPage {
  return {
    title: "/debug/pprof",
    text: () => PROFILES,
    html: () =>
      `<p><a href="/debug/pprof/profile?seconds=10">CPU, 10 s, for pprof</a> ·
<a href="/debug/pprof/profile?seconds=10&amp;format=cpuprofile">CPU, 10 s, for
DevTools</a> · <a href="/debug/pprof/heap">heap snapshot</a></p>
${preHtml(PROFILES)}`,
  };
}
