/**
 * The routes of the debug port: one table of pages, and who may see them.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { HttpHandler, HttpRequest } from "../../shared/http/exchange.ts";
import {
  isLoopbackAddress,
  localHostFault,
} from "../../shared/http/client_address.ts";
import { describeRules, type Snapshot } from "../rules/snapshot.ts";
import type { CandidateReport } from "../candidate/comparison.ts";
import { statsJson, statsText } from "../stats/page.ts";
import type { StatsRegistry } from "../stats/registry.ts";
import type { ActivityReports } from "../activity/activity_report.ts";
import { activityPage, keysPage, timelinePage } from "./activity_pages.ts";
import { candidatePage } from "./candidate_page.ts";
import { countersPage } from "./counters_page.ts";
import {
  cpuProfileAnswer,
  type CpuProfiler,
  heapSnapshotAnswer,
} from "./profiles.ts";
import {
  debugAnswer,
  type DebugPage,
  isForBrowser,
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
  /** Tells what the rules did lately. */
  readonly reports: ActivityReports;
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
  /** The routes of the console; none when it is off. */
  readonly console: readonly Route[];
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
  & {
    /** The path, without a query. */
    readonly path: string;
    /** What the page shows, for the list of pages. */
    readonly help: string;
    /**
     * The page of the console that shows the same.
     *
     * @default none
     */
    readonly console?: string;
  }
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
      console: "/console",
      help: "the rules in force, a line each",
      page: () => rulesPage(options.snapshot()),
    },
    {
      path: "/stats",
      console: "/console/statistics",
      help: "all statistics; ?filter=TEXT keeps names with TEXT, " +
        "?format=json gives JSON",
      page: (request) => statsPage(parseQuery(request), registry),
    },
    {
      path: "/debug/explain",
      console: "/console/explain",
      help:
        "which rule applies to a request, why the others do not, and what " +
        "its counters hold; ?domain=D&descriptors=K=V,K=V, or POST of JSON",
      page: (request) => explainPage(request, options.explainers),
      alsoBy: "POST",
    },
    {
      path: "/debug/counters",
      console: "/console/explain",
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
      console: "/console/candidate",
      help: "how the rules of CANDIDATE_CONFIG_DIR would decide what is asked",
      page: () => candidatePage(options.candidate()),
    },
    {
      path: "/debug/activity",
      console: "/console",
      help: "what each rule did in the last minute and hour; ?filter=TEXT, " +
        "?rule=NAME for one with its values and keys",
      page: (request) => activityPage(parseQuery(request), options.reports),
    },
    {
      path: "/debug/keys",
      console: "/console/keys",
      help: "the keys that are over their limits most often now",
      page: () => keysPage(options.reports),
    },
    {
      path: "/debug/timeline",
      console: "/console/timeline",
      help: "rules loaded and refused, stores lost and found, the last first",
      page: () => timelinePage(options.reports),
    },
    {
      path: "/debug/pprof",
      console: "/console/statistics",
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
  const hasConsole = options.console.length > 0;
  const entries = debugEntries(options);
  const root: DebugEntry = {
    path: "/",
    console: "/console",
    help: "this list",
    page: () => listPage([root, ...hasConsole ? [CONSOLE] : [], ...entries]),
  };
  const pages = [root, ...entries].flatMap((entry) =>
    entryRoutes(entry, { hasConsole })
  );
  return [...pages, ...options.console].map((route) => ({
    ...route,
    handle(request) {
      const fault = accessFault(request, options.access);
      return fault === undefined
        ? route.handle(request)
        : problem({ status: 403, detail: fault });
    },
  }));
}

function entryRoutes(
  entry: DebugEntry,
  { hasConsole }: { readonly hasConsole: boolean },
): Route[] {
  const { path, console } = entry;
  const handle: HttpHandler = (request) => {
    if (hasConsole && console !== undefined && isForBrowser(request)) {
      const [, query] = request.target.split(/(?=\?)/);
      return { status: 303, headers: { location: console + (query ?? "") } };
    }
    if ("handle" in entry) return entry.handle(request);
    const page = entry.page(request);
    return page instanceof Promise
      ? page.then((settled) => debugAnswer(request, settled))
      : debugAnswer(request, page);
  };
  const get: Route = { method: "GET", path, handle };
  const method = "page" in entry ? entry.alsoBy : undefined;
  return method === undefined ? [get] : [get, { method, path, handle }];
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

/** What the list of pages says of the console. */
const CONSOLE = {
  path: "/console",
  help: "what these pages tell, for browsers",
};

function listPage(
  entries: readonly Pick<DebugEntry, "path" | "help">[],
): DebugPage {
  return {
    text: () => entries.map(({ path, help }) => `${path}: ${help}\n`).join(""),
  };
}

function rulesPage(snapshot: Snapshot | undefined): DebugPage {
  const lines = snapshot === undefined
    ? ["no rate limit configuration loaded"]
    : describeRules(snapshot);
  return {
    text: () => lines.map((line) => `${line}\n`).join(""),
    json: () => ({ rules: snapshot === undefined ? [] : lines }),
  };
}

function statsPage(
  query: URLSearchParams,
  registry: StatsRegistry,
): DebugPage {
  const filter = query.get("filter") ?? "";
  const snapshot = registry.snapshot();
  return {
    text: () => statsText(snapshot, filter),
    json: () => statsJson(snapshot, filter),
  };
}

/** The page that explains how to take a profile and which programs open it. */
export const PROFILES = `CPU, ten seconds:
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
  return { text: () => PROFILES };
}
