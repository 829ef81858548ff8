import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { requestFromJson } from "../../../proto/rate_limit_json.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { HealthBoard } from "../../shared/grpc/health.ts";
import {
  documentedRoutes,
  undocumented,
} from "../../shared/openapi/testing/document_check.ts";
import { undescribed } from "../../shared/openapi/testing/description_check.ts";
import { openApiFaults } from "../../shared/openapi/testing/openapi_check.ts";
import {
  fetchAnswer,
  type TestServerOptions,
} from "../../shared/http1/testing/test_server.ts";
import { misfits } from "../../shared/schema/testing/json_schema_check.ts";
import { MemoryStore } from "../counters/memory_store.ts";
import { Decider } from "../decision/decide.ts";
import { StatsRecorder } from "../decision/stats_recorder.ts";
import { loadRules } from "../rules/load.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { createRuleStatsCache } from "../stats/stats.ts";
import { DecisionEndpoint } from "./decision_endpoint.ts";
import { HealthState } from "./health_state.ts";
import { publicRoutes } from "./http_routes.ts";
import { rateLimitDocument } from "./openapi.ts";
import { RefusalLog } from "./refusal.ts";
import { createRouter, type Route } from "./router.ts";

const RULES = `domain: edge
descriptors:
  - key: login
    rate_limit: {unit: minute, requests_per_unit: 1}
`;
const LOGIN = {
  domain: "edge",
  descriptors: [{ entries: [{ key: "login", value: "ada" }] }],
};

function service(
  options: {
    readonly rules?: string;
    readonly isStoreHealthy?: boolean;
    readonly maxBytes?: number;
    readonly budgetBytes?: number;
  } = {},
): TestServerOptions & { readonly routes: readonly Route[] } {
  const logger = new RecordingLogger();
  const clock = new FakeClock(1_000_000_020_000);
  const registry = new StatsRegistry();
  const store = new MemoryStore();
  const decider = new Decider({
    store,
    recorder: new StatsRecorder(registry, {
      configured: createRuleStatsCache(registry),
      requested: createRuleStatsCache(registry),
    }),
  });
  const text = options.rules ?? RULES;
  if (text !== "") {
    decider.adopt(loadRules([{ name: "a.yaml", text }]).snapshot!);
  }
  const routes = publicRoutes({
    endpoint: new DecisionEndpoint({
      decider,
      clock,
      stats: registry,
      refusals: new RefusalLog(logger, clock),
      maxDescriptors: 3,
    }),
    health: new HealthState({
      board: new HealthBoard(),
      isStoreHealthy: () => options.isStoreHealthy ?? true,
      needsDomain: false,
    }),
    maxBytes: options.maxBytes ?? 1_000,
  });
  const handler = createRouter({ routes, logger });
  const maxBodyBytesInFlight = options.budgetBytes ?? 1_000_000;
  return { handler, maxBodyBytesInFlight, routes };
}

function post(server: TestServerOptions, body: BodyInit): Promise<Response> {
  return fetchAnswer(server, "/json", { method: "POST", body });
}

Deno.test("publicRoutes() answers 200 within the limit and 429 over it", async () => {
  const server = service();
  const first = await post(server, JSON.stringify(LOGIN));
  assertEquals(first.status, 200);
  assertEquals(first.headers.get("content-type"), "application/json");
  assertEquals(await first.json(), {
    overallCode: "OK",
    statuses: [{
      code: "OK",
      currentLimit: { requestsPerUnit: 1, unit: "MINUTE" },
      durationUntilReset: "60s",
    }],
  });
  const second = await post(server, JSON.stringify(LOGIN));
  assertEquals(second.status, 429);
  assertEquals((await second.json()).overallCode, "OVER_LIMIT");
});

Deno.test("publicRoutes() answers bad input with a problem that says what is wrong", async () => {
  const four = Array(4).fill(LOGIN.descriptors[0]);
  const rows: readonly [BodyInit, number, string][] = [
    ["", 400, "Cannot read request"],
    ["{", 400, "Cannot read request"],
    ['{"domian":"edge"}', 400, 'unknown field "domian"'],
    [new Uint8Array([0x22, 0xff, 0x22]), 400, "not UTF-8"],
    ['{"descriptors":[]}', 400, "domain must not be empty"],
    ['{"domain":"edge"}', 400, "descriptor list must not be empty"],
    [
      JSON.stringify({
        domain: "edge",
        descriptors: [{ ...LOGIN.descriptors[0], limit: { unit: "UNKNOWN" } }],
      }),
      400,
      "no usable unit",
    ],
    [JSON.stringify({ domain: "edge", descriptors: four }), 413, "4"],
    ["x".repeat(1_001), 413, "larger than 1000 bytes"],
  ];
  const server = service();
  for (const [body, status, detail] of rows) {
    const response = await post(server, body);
    assertEquals(response.status, status, detail);
    assertEquals(
      response.headers.get("content-type"),
      "application/problem+json",
    );
    assertStringIncludes((await response.json()).detail, detail);
  }
  assertEquals((await post(server, JSON.stringify(LOGIN))).status, 200);
});

Deno.test("publicRoutes() answers 503 when no rules are loaded", async () => {
  const response = await post(service({ rules: "" }), JSON.stringify(LOGIN));
  assertEquals(response.status, 503);
  assertStringIncludes(
    (await response.json()).detail,
    "no rate limit configuration loaded",
  );
});

Deno.test("publicRoutes() takes decisions by POST only and health by any method", async () => {
  const server = service();
  const get = await fetchAnswer(server, "/json");
  assertEquals(get.status, 405);
  assertEquals(get.headers.get("allow"), "POST");
  for (const method of ["GET", "POST", "HEAD"]) {
    const health = await fetchAnswer(server, "/healthcheck", { method });
    assertEquals(health.status, 200);
    assertEquals(
      health.headers.get("content-type"),
      "text/plain; charset=utf-8",
    );
  }
});

Deno.test("publicRoutes() names what is unhealthy", async () => {
  const server = service({ isStoreHealthy: false });
  const response = await fetchAnswer(server, "/healthcheck");
  assertEquals(response.status, 503);
  const { detail } = await response.json();
  assert(detail.includes("counter store"), detail);
});

Deno.test("publicRoutes() answers 503 to a large body that the budget has no room for, and takes small ones", async () => {
  const server = service({ maxBytes: 200_000, budgetBytes: 50_000 });
  const large = JSON.stringify(LOGIN).padEnd(100_000, " ");
  assertEquals((await post(server, large)).status, 503);
  assertEquals((await post(server, JSON.stringify(LOGIN))).status, 200);
});

Deno.test("rateLimitDocument() has every route and keeps the rules of OpenAPI 3.1", async () => {
  const document = rateLimitDocument("0.1.0");
  const routes = service().routes.map(({ method, path }) =>
    `${method === "*" ? "GET" : method} ${path}`
  );
  assertEquals(documentedRoutes(document), routes.toSorted());
  assertEquals(await openApiFaults(document), []);
  assertEquals(undescribed(document), []);
});

Deno.test("rateLimitDocument() says what is taken and answered", async () => {
  const document = rateLimitDocument("0.1.0");
  const media = document.paths["/json"]?.["post"]?.requestBody?.content;
  const { schema: json = {}, example = {} } = media?.["application/json"] ?? {};
  const definitions = () =>
    new Map(Object.entries(document.components.schemas));
  const asked = {
    domain: "edge",
    hits_addend: "2",
    descriptors: [{
      entries: [{ key: "login", value: "ada" }],
      limit: { requestsPerUnit: 5, unit: "HOUR" },
      isNegativeHits: null,
    }],
  };
  for (const good of [LOGIN, example, asked]) {
    assertEquals(misfits(good, { json, definitions }), []);
    assertEquals(requestFromJson(good).kind, "ok");
  }
  const check = async (
    server: TestServerOptions,
    [route, body]: readonly [string, string?],
  ): Promise<number> => {
    const [method = "", path = ""] = route.split(" ");
    const answer = await fetchAnswer(server, path, {
      method,
      ...body === undefined ? {} : { body },
    });
    const response = {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: await answer.text(),
    };
    assertEquals(undocumented(document, { route, response }), [], route);
    return answer.status;
  };
  const server = service();
  const post = "POST /json";
  const get = "GET /healthcheck";
  assertEquals(await check(server, [post, JSON.stringify(asked)]), 200);
  assertEquals(await check(server, [post, JSON.stringify(LOGIN)]), 200);
  assertEquals(await check(server, [post, JSON.stringify(LOGIN)]), 429);
  assertEquals(await check(server, [post, "{}"]), 400);
  assertEquals(await check(server, [post, "x".repeat(2_000)]), 413);
  const away = service({ isStoreHealthy: false });
  assertEquals(await check(server, [get]), 200);
  assertEquals(await check(away, [get]), 503);
  const noRules = service({ rules: "" });
  assertEquals(await check(noRules, [post, JSON.stringify(LOGIN)]), 503);
});
