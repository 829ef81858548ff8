import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type { AnyRoute } from "../../http/route.ts";
import type { ReadinessReport } from "../../../shared/http/readiness.ts";
import type { ApiParts } from "../api_parts.ts";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import { askReadiness, serviceRoutes } from "./service_routes.ts";

const READY: ReadinessReport = { store: { isReady: true } };

Deno.test("askReadiness() logs why the store cannot be used, and tells no more than that", async () => {
  const logger = new RecordingLogger();
  const parts = {
    store: { check: () => Promise.resolve(undefined) },
    identityProvider: undefined,
    instances: { mayAct: () => Promise.resolve(true) },
    secretsWorker: { unopenedTenants: 0 },
    masterKeyWatch: { isDifferent: false },
    logger,
  };
  assertEquals([await askReadiness(parts), logger.lines], [READY, []]);
  const different = await askReadiness({
    ...parts,
    masterKeyWatch: { isDifferent: true },
  });
  assert(different["secrets"]?.isReady);
  assertStringIncludes(different["secrets"].detail ?? "", "other master keys");
  const fenced = await askReadiness({
    ...parts,
    instances: { mayAct: () => Promise.resolve(false) },
  });
  assertEquals(fenced["instance"]?.isReady, false);
  const full = () => Promise.reject(new Error("/data/tasks.db: disk is full"));
  assertEquals(await askReadiness({ ...parts, store: { check: full } }), {
    store: { isReady: false, detail: "it cannot be read or written" },
  });
  assertEquals(logger.lines, [{
    level: "warning",
    message: "Cannot use the store: it is not ready",
    fields: { reason: "/data/tasks.db: disk is full" },
  }]);
});

const HOSTS = [
  SERVICE_HOST,
  `acme.${SERVICE_HOST}`,
  `accounts.${SERVICE_HOST}`,
  `accounts.admin.${SERVICE_HOST}`,
];

Deno.test("every host has probes, the document and the problems, without credentials", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const paths = [
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/docs",
    "/problems/not_found",
  ];
  for (const host of HOSTS) {
    for (const path of paths) {
      const answer = await api.call("GET", path, { host, key: null });
      assertEquals(answer.status, 200, `${host}${path}`);
    }
  }
  assertEquals((await api.call("GET", "/api/healthz")).status, 404);
  await api.close();
});

Deno.test("GET /healthz says nothing else", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const health = await api.call("GET", "/healthz", { key: null });
  assertEquals(health.json, { status: "ok" });
  assertEquals(health.headers["cache-control"], "no-store");
  await api.close();
});

Deno.test("GET /readyz tells what is not ready, and how durable writes are", async () => {
  let report: ReadinessReport = {
    store: { isReady: true },
    idp: { isReady: true, detail: "it answers" },
  };
  const api = await openTestApi({
    routes: createRoutes,
    readiness: () => Promise.resolve(report),
  });
  const ask = () => api.call("GET", "/readyz", { key: null });
  assertEquals((await ask()).json, {
    status: "ready",
    durability: "strict",
    checks: {
      store: { ready: true },
      idp: { ready: true, detail: "it answers" },
    },
  });
  report = {
    store: { isReady: true },
    idp: { isReady: false, detail: "refused" },
  };
  assertEquals((await ask()).status, 200, "it was asked again at once");
  api.clock.advance(1_000);
  const away = await ask();
  assertEquals([away.status, away.at("code")], [503, "not_ready"]);
  assertEquals(away.at("detail"), "Cannot serve: idp not ready");
  assertEquals(away.at("checks", "idp"), { ready: false, detail: "refused" });
  assertEquals(away.at("durability"), "strict");
  report = { store: { isReady: false, detail: "it does not answer" } };
  api.clock.advance(1_000);
  assertEquals((await ask()).at("code"), "not_ready");
  await api.close();
});

Deno.test("GET /openapi.json is the document of all routes, for caches", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const answer = await api.call("GET", "/openapi.json", { key: null });
  assertEquals(answer.at("openapi"), "3.1.0");
  for (const port of ["", ":8070"]) {
    const asked = await api.call("GET", "/openapi.json", {
      host: `${SERVICE_HOST}${port}`,
      key: null,
    });
    assertEquals(
      asked.at("servers", 0, "url"),
      `http://{tenant}.${SERVICE_HOST}${port}/api`,
    );
  }
  assert(answer.at("paths", "/problems/{code}") !== undefined);
  assertEquals(answer.headers["cache-control"], "public, max-age=300");
  const same = await api.call("GET", "/openapi.json", {
    key: null,
    headers: { "if-none-match": answer.headers["etag"] ?? "" },
  });
  assertEquals(same.status, 304);
  await api.close();
});

Deno.test("GET /openapi.json and /docs are compressed for who takes that, with a tag of its own", async () => {
  const api = await openTestApi({ routes: createRoutes });
  for (const path of ["/openapi.json", "/docs"]) {
    const ask = (headers: Readonly<Record<string, string>>) =>
      api.call("GET", path, { key: null, headers });
    const plain = await ask({});
    assertEquals(plain.headers["content-encoding"], undefined);
    assertEquals(plain.headers["vary"], "accept-encoding");
    const small = await ask({ "accept-encoding": "gzip" });
    assertEquals(small.headers["content-encoding"], "gzip");
    assertNotEquals(small.headers["etag"], plain.headers["etag"]);
    const known = { "if-none-match": small.headers["etag"] ?? "" };
    const same = await ask({ ...known, "accept-encoding": "gzip" });
    assertEquals([same.status, same.text], [304, ""]);
    assertEquals(same.headers["vary"], "accept-encoding");
    assertEquals((await ask(known)).status, 200, "it is another form");
  }
  await api.close();
});

Deno.test("GET /docs is the page of the document, which loads nothing", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const page = await api.call("GET", "/docs", { key: null });
  assertEquals(page.headers["content-type"], "text/html; charset=utf-8");
  assertStringIncludes(page.text, 'id="op-getProblemKind"');
  assertStringIncludes(
    page.headers["content-security-policy"] ?? "",
    "default-src 'none'",
  );
  await api.close();
});

function createRoutes(parts: ApiParts): readonly AnyRoute[] {
  const routes = serviceRoutes(parts, () => routes);
  return routes;
}
