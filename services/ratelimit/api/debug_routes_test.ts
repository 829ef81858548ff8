import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { fetchAnswer } from "../../shared/http1/testing/test_server.ts";
import type { HttpRequest } from "../../shared/http/exchange.ts";
import { loadRules } from "../rules/load.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { MemoryStore } from "../counters/memory_store.ts";
import { ActivityBench } from "../activity/testing/activity_bench.ts";
import { debugRoutes } from "./debug_routes.ts";
import { Explainer } from "./explain_page.ts";
import { CpuProfiler } from "./profiles.ts";
import { createRouter, type Route } from "./router.ts";

function createRoutes(
  from: {
    readonly snapshot?: Snapshot | undefined;
    readonly registry?: StatsRegistry;
    readonly allowRemote?: boolean;
    readonly console?: readonly Route[];
  } = {},
) {
  const { registry = new StatsRegistry(), allowRemote = false } = from;
  registry.counter("ratelimit.service.config_load_success").add(2);
  registry.counter("ratelimit.service.config_load_error").add(1);
  return debugRoutes({
    snapshot: () => from.snapshot,
    registry,
    reports: new ActivityBench("domain: d").reports,
    console: from.console ?? [],
    profiler: new CpuProfiler(new FakeClock(0)),
    candidate: () => undefined,
    explainers: {
      live: new Explainer({
        snapshot: () => from.snapshot,
        store: new MemoryStore(),
        rules: {
          keyFormat: "escaped",
          nearLimitRatio: 0.8,
          shadowMode: false,
          quotaMode: false,
          stopWhenOver: false,
        },
        clock: new FakeClock(0),
      }),
      candidate: undefined,
    },
    logger: new RecordingLogger(),
    access: { host: "box.example", allowRemote },
  });
}

function ask(
  path: string,
  from: Parameters<typeof createRoutes>[0] & { readonly accept?: string } = {},
): Promise<Response> {
  const handler = createRouter({
    routes: createRoutes(from),
    ignoreLastSlash: true,
    logger: new RecordingLogger(),
  });
  const { accept = "*/*" } = from;
  return fetchAnswer({ handler }, path, {
    headers: { accept },
    redirect: "manual",
  });
}

const BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8";

Deno.test("debugRoutes() lists its routes at the root", async () => {
  const text = await (await ask("/")).text();
  for (const path of ["/rlconfig: ", "/stats: ", "/debug/pprof: "]) {
    assertStringIncludes(text, path);
  }
});

Deno.test("debugRoutes() shows the rules in the order they were written in, and says when there are none", async () => {
  assertEquals(
    await (await ask("/rlconfig")).text(),
    "no rate limit configuration loaded\n",
  );
  const text = "domain: d\ndescriptors:\n" +
    "  - {key: b, rate_limit: {unit: day, requests_per_unit: 2}}\n" +
    "  - {key: a, value: x, rate_limit: {unlimited: true}}\n";
  const { snapshot } = loadRules([{ name: "a.yaml", text }]);
  assertEquals(
    await (await ask("/rlconfig", { snapshot })).text(),
    "d.b: unit=DAY requests_per_unit=2, " +
      "shadow_mode: false, quota_mode: false\n" +
      "d.a_x: unit=UNKNOWN requests_per_unit=0, " +
      "shadow_mode: false, quota_mode: false\n",
  );
});

Deno.test("debugRoutes() shows statistics as text and as JSON, filtered when asked", async () => {
  assertEquals(
    await (await ask("/stats")).text(),
    "ratelimit.service.config_load_error: 1\n" +
      "ratelimit.service.config_load_success: 2\n",
  );
  assertEquals(
    await (await ask("/stats?format=json&filter=error")).json(),
    {
      stats: [{
        name: "ratelimit.service.config_load_error",
        kind: "counter",
        value: 1,
      }],
    },
  );
});

Deno.test("debugRoutes() redirects a browser to the console, and answers with text when the console is off", async () => {
  const page: Route = {
    method: "GET",
    path: "/console/statistics",
    handle: () => ({ status: 200, headers: {}, body: "the page" }),
  };
  const console = [page];
  assertStringIncludes(
    await (await ask("/", { console })).text(),
    "/console: ",
  );
  assertEquals((await (await ask("/")).text()).includes("/console"), false);
  const away = await ask("/stats?filter=a%26b", { accept: BROWSER, console });
  assertEquals([away.status, away.headers.get("location")], [
    303,
    "/console/statistics?filter=a%26b",
  ]);
  const stays = [
    ask("/stats?format=text", { accept: BROWSER, console }),
    ask("/stats", { console }),
    ask("/stats", { accept: BROWSER }),
  ];
  for (const answer of await Promise.all(stays)) {
    assertStringIncludes(await answer.text(), "config_load_success: 2");
    assertEquals(
      answer.headers.get("content-type"),
      "text/plain; charset=utf-8",
    );
  }
});

Deno.test("debugRoutes() refuses forms it does not have", async () => {
  const answer = await ask("/stats?format=xml");
  assertEquals(answer.status, 400);
  assertStringIncludes((await answer.json()).detail, "text or json");
  assertEquals((await ask("/?format=json")).status, 400);
});

Deno.test("debugRoutes() shows nothing to other machines unless it is allowed to", async () => {
  const requestFrom = (address: string, host: string): HttpRequest => ({
    method: "GET",
    target: "/stats",
    headers: {
      get: (name) => name === "host" ? host : undefined,
      all: () => [],
    },
    peer: { address, port: 1 },
    isTls: false,
    isGone: () => false,
    onGone: () => () => {},
    body: () => Promise.resolve({ kind: "ok", bytes: new Uint8Array() }),
  });
  const console: readonly Route[] = [{
    method: "GET",
    path: "/console",
    handle: () => ({ status: 200, headers: {} }),
  }];
  const listStatuses = async (
    request: HttpRequest,
    allowRemote: boolean,
  ): Promise<number[]> => {
    const statuses = new Set<number>();
    for (const { handle, path } of createRoutes({ allowRemote, console })) {
      // Profiles and heap snapshots take long, and are behind the same check.
      if (allowRemote && /profile|heap/.test(path)) continue;
      statuses.add((await handle({ ...request, target: path })).status);
    }
    return [...statuses];
  };
  const remote = requestFrom("192.0.2.7", "192.0.2.1:6070");
  assertEquals(await listStatuses(remote, false), [403]);
  assertEquals(await listStatuses(remote, true), [200]);
  // A page of another site, whose name was made to resolve to this machine.
  const turned = requestFrom("127.0.0.1", "evil.example:6070");
  assertEquals(await listStatuses(turned, false), [403]);
  assertEquals(await listStatuses(turned, true), [403]);
  const named = requestFrom("127.0.0.1", "box.example:6070");
  assertEquals(await listStatuses(named, true), [200]);
});

Deno.test("debugRoutes() refuses profiles of odd lengths and forms", async () => {
  const odd = [
    "seconds=0",
    "seconds=301",
    "seconds=1.5",
    "seconds=-1",
    "seconds=",
    "format=svg",
  ];
  for (const query of odd) {
    const answer = await ask(`/debug/pprof/profile?${query}`);
    assertEquals([query, answer.status], [query, 400]);
    await answer.body?.cancel();
  }
});

Deno.test("debugRoutes() explains a decision from a query, and tells what is wrong with one", async () => {
  const text = "domain: d\ndescriptors:\n" +
    "  - {key: k, rate_limit: {unit: day, requests_per_unit: 2}}\n";
  const { snapshot } = loadRules([{ name: "a.yaml", text }]);
  const path = "/debug/explain?domain=d&descriptors=k%3Dv&hits=3";
  assertEquals(
    await (await ask(path, { snapshot })).text(),
    `domain "d"

descriptor 1: k=v
  limited    d.k (a.yaml:3) applies
  limit      2 per DAY, fixed_window
  counter    d_k_v_day_ from 1970-01-01T00:00:00Z to 1970-01-02T00:00:00Z
  holds      0 of 2; near the limit above 1
  counted as ratelimit.service.rate_limit.d.k
  would be   OVER_LIMIT for 3 hits, 0 left, reset in 86400 s
  level 1, k=v:
    * k: it matches every value

answer: OVER_LIMIT
`,
  );
  const json = await (await ask(`${path}&format=json`, { snapshot })).json();
  assertEquals([json.overallCode, json.descriptors[0].rule.line], [
    "OVER_LIMIT",
    3,
  ]);
  const cases: [string, Snapshot | undefined, number, string][] = [
    ["", snapshot, 200, "curl"],
    ["?domain=d", snapshot, 400, "descriptor list must not be empty"],
    ["?domain=d&descriptors=k", snapshot, 400, '"k" is not of the form'],
    ["?domain=d&descriptors=k=v&hits=-1", snapshot, 400, "hits is a whole"],
    ["?domain=d&descriptors=k=v&rules=x", snapshot, 400, "live or candidate"],
    [
      "?domain=d&descriptors=k=v&rules=candidate",
      snapshot,
      400,
      "there is no candidate",
    ],
    ["?domain=d&descriptors=k=v", undefined, 503, "no rate limit config"],
    [
      `?domain=d${"&descriptors=k=v".repeat(101)}`,
      snapshot,
      400,
      "101 descriptors",
    ],
  ];
  for (const [query, rules, status, told] of cases) {
    const answer = await ask(`/debug/explain${query}`, { snapshot: rules });
    assertEquals([query, answer.status], [query, status]);
    assertStringIncludes(await answer.text(), told);
  }
});
