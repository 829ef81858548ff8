import { assert, assertEquals } from "@std/assert";
import { buildOpenApi } from "../http/openapi.ts";
import {
  fullPath,
  HOST_KINDS,
  type HostKind,
  RouteMatcher,
} from "../http/locate.ts";
import type { AnyRoute } from "../http/route.ts";
import { pathTemplate } from "../http/openapi_operation.ts";
import { CodedText } from "../../shared/http/coded_text.ts";
import { apiPageHtml } from "../../shared/openapi/page.ts";
import { undescribed } from "../../shared/openapi/testing/description_check.ts";
import { openApiFaults } from "../../shared/openapi/testing/openapi_check.ts";
import { parseTenantDomain } from "./accounts/create_tenant.ts";
import { openTestApi, SERVICE_HOST } from "./testing/test_api.ts";
import { allRoutes } from "./all_routes.ts";
import { openOperations } from "./tasks/bulk_routes.ts";

/** All routes: kind of host, method, and path below the base path. */
const EXPECTED: readonly (readonly [HostKind | "any", string, string])[] = [
  ["tenant", "POST", "/v1/tasks"],
  ["tenant", "PUT", "/v1/tasks/:id"],
  ["tenant", "PATCH", "/v1/tasks/:id"],
  ["tenant", "GET", "/v1/tasks"],
  ["tenant", "GET", "/v1/tasks/:id"],
  ["tenant", "GET", "/v1/tasks/:id/history"],
  ["tenant", "GET", "/v1/tasks/:id/history/check"],
  ["tenant", "DELETE", "/v1/tasks/:id"],
  ["tenant", "POST", "/v1/tasks/batch"],
  ["tenant", "POST", "/v1/tasks/actions"],
  ["tenant", "POST", "/v1/tasks/:id/cancel"],
  ["tenant", "POST", "/v1/tasks/:id/retry"],
  ["tenant", "POST", "/v1/tasks/:id/run"],
  ["tenant", "POST", "/v1/tasks/:id/pause"],
  ["tenant", "POST", "/v1/tasks/:id/resume"],
  ["tenant", "POST", "/v1/tasks/:id/events"],
  ["tenant", "POST", "/v1/tasks/:id/approval"],
  ["tenant", "GET", "/v1/tasks/:id/attempts"],
  ["tenant", "GET", "/v1/tasks/:id/explain"],
  ["tenant", "GET", "/v1/overview"],
  ["tenant", "GET", "/v1/activity"],
  ["tenant", "GET", "/v1/operations/:id"],
  ["tenant", "POST", "/v1/schedules/preview"],
  ["tenant", "GET", "/v1/calendars"],
  ["tenant", "PUT", "/v1/calendars/:name"],
  ["tenant", "GET", "/v1/calendars/:name"],
  ["tenant", "DELETE", "/v1/calendars/:name"],
  ["tenant", "POST", "/v1/workers"],
  ["tenant", "PUT", "/v1/workers/:id"],
  ["tenant", "PATCH", "/v1/workers/:id"],
  ["tenant", "GET", "/v1/workers"],
  ["tenant", "GET", "/v1/workers/:id"],
  ["tenant", "DELETE", "/v1/workers/:id"],
  ["tenant", "POST", "/v1/workers/:id/secrets"],
  ["tenant", "GET", "/v1/workers/:id/secrets"],
  ["tenant", "DELETE", "/v1/workers/:id/secrets/:name"],
  ["tenant", "POST", "/v1/workers/:id/lease"],
  ["tenant", "POST", "/v1/workers/:id/pause"],
  ["tenant", "POST", "/v1/workers/:id/resume"],
  ["tenant", "POST", "/v1/workers/:id/test"],
  ["tenant", "POST", "/v1/leases/:id/heartbeat"],
  ["tenant", "POST", "/v1/leases/:id/complete"],
  ["tenant", "POST", "/v1/leases/:id/fail"],
  ["tenant", "POST", "/v1/leases/:id/release"],
  ["tenant", "POST", "/v1/leases/:id/wait"],
  ["tenant", "POST", "/v1/leases/:id/log"],
  ["tenant", "POST", "/v1/leases/batch"],
  ["tenant", "GET", "/v1/users"],
  ["tenant", "GET", "/v1/users/:id"],
  ["tenant", "POST", "/v1/users"],
  ["tenant", "PUT", "/v1/users/:id"],
  ["tenant", "PATCH", "/v1/users/:id"],
  ["tenant", "DELETE", "/v1/users/:id"],
  ["tenant", "GET", "/v1/keys"],
  ["tenant", "GET", "/v1/keys/:id"],
  ["tenant", "POST", "/v1/keys"],
  ["tenant", "POST", "/v1/keys/:id/rotate"],
  ["tenant", "DELETE", "/v1/keys/:id"],
  ["tenant", "GET", "/v1/me"],
  ["tenant", "GET", "/v1/account"],
  ["tenant", "PUT", "/v1/account"],
  ["tenant", "PATCH", "/v1/account"],
  ["tenant", "DELETE", "/v1/account"],
  ["tenant", "GET", "/v1/usage"],
  ["tenant", "GET", "/v1/refused-requests"],
  ["tenant", "GET", "/v1/audit"],
  ["tenant", "GET", "/v1/events"],
  ["tenant", "GET", "/v1/webhooks"],
  ["tenant", "POST", "/v1/webhooks"],
  ["tenant", "GET", "/v1/webhooks/:id"],
  ["tenant", "PUT", "/v1/webhooks/:id"],
  ["tenant", "PATCH", "/v1/webhooks/:id"],
  ["tenant", "DELETE", "/v1/webhooks/:id"],
  ["tenant", "POST", "/v1/webhooks/:id/rotate"],
  ["tenant", "POST", "/v1/webhooks/:id/test"],
  ["tenant", "GET", "/v1/alerts"],
  ["tenant", "POST", "/v1/alerts"],
  ["tenant", "GET", "/v1/alerts/:id"],
  ["tenant", "PUT", "/v1/alerts/:id"],
  ["tenant", "PATCH", "/v1/alerts/:id"],
  ["tenant", "DELETE", "/v1/alerts/:id"],
  ["tenant", "POST", "/v1/alerts/:id/test"],
  ["tenant", "GET", "/v1/deliveries"],
  ["tenant", "GET", "/v1/deliveries/:id"],
  ["tenant", "POST", "/v1/deliveries/:id/redeliver"],
  ["accounts", "POST", "/"],
  ["accounts_admin", "GET", "/"],
  ["accounts_admin", "GET", "/v1/instances"],
  ["accounts_admin", "GET", "/v1/queues"],
  ["accounts_admin", "GET", "/:x/refused-requests"],
  ["accounts_admin", "GET", "/:domain"],
  ["accounts_admin", "PUT", "/:domain"],
  ["accounts_admin", "DELETE", "/:domain"],
  ["apex", "GET", "/plans"],
  ["apex", "GET", "/prices"],
  ["any", "GET", "/healthz"],
  ["any", "GET", "/readyz"],
  ["any", "GET", "/openapi.json"],
  ["any", "GET", "/docs"],
  ["any", "GET", "/problems/:code"],
];

/** Paths of planned routes, which do not exist yet. */
const LATER = [
  "/",
  "/metrics",
];

Deno.test("allRoutes() has every route that is expected and no other", async () => {
  const { routes, close } = await open();
  const formatName = (
    [host, method, path]: readonly [string, string, string],
  ): string =>
    // Names of parameters do not matter.
    `${host} ${method} ${path.replaceAll(/:[a-z_]+/g, ":x")}`;
  const found = routes.map(({ hosts, method, path }) =>
    formatName([hosts, method, path])
  );
  assertEquals(new Set(found), new Set(EXPECTED.map(formatName)));
  assertEquals(new Set(found).size, found.length);
  await close();
});

Deno.test("every route is in the document, and the document has no other", async () => {
  const { routes, close } = await open();
  const document = buildOpenApi(routes, {
    title: "Test",
    version: "1",
    host: SERVICE_HOST,
  });
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) =>
      `${method.toUpperCase()} ${path} ${operationId}`
    )
  );
  const expected = routes.map(({ method, path, operationId }) =>
    `${method} ${pathTemplate(path)} ${operationId}`
  );
  assertEquals(new Set(documented), new Set(expected));
  assertEquals(await openApiFaults(document), []);
  assertEquals(undescribed(document), []);
  await close();
});

Deno.test("GET /openapi.json is that document", async () => {
  const { api, routes, close } = await open();
  const answer = await api.call("GET", "/openapi.json", { key: null });
  const { paths } = buildOpenApi(routes, {
    title: "Tercet tasks",
    version: "1",
    host: SERVICE_HOST,
    scheme: "http",
  });
  assertEquals(answer.at("paths"), JSON.parse(JSON.stringify(paths)));
  await close();
});

Deno.test("the document and its page have at most 76 KB when compressed", async () => {
  const { routes, close } = await open();
  const document = buildOpenApi(routes, {
    title: "Test",
    version: "1",
    host: SERVICE_HOST,
  });
  for (const text of [JSON.stringify(document), apiPageHtml(document)]) {
    const { bytes } = await new CodedText(text).formFor("gzip");
    assert(bytes.length <= 76_000, `${bytes.length} bytes`);
  }
  await close();
});

Deno.test("every path of every host leads to its own route", async () => {
  const { routes, close } = await open();
  const matcher = new RouteMatcher(routes);
  for (const route of routes) {
    const hosts = route.hosts === "any" ? HOST_KINDS : [route.hosts];
    for (const host of hosts) {
      const path = fullPath(route, host).replaceAll(/:[a-z_]+/g, "x1");
      const match = matcher.match(host, route.method, path);
      assert(match.kind === "route", `${route.method} ${path}`);
      assertEquals(match.route.operationId, route.operationId);
    }
  }
  await close();
});

Deno.test("what comes later is not there and not documented", async () => {
  const { api, routes, close } = await open();
  for (const path of LATER) {
    for (const method of ["GET", "POST"]) {
      const answer = await api.call(method, path, {
        ...(method === "POST" ? { body: {} } : {}),
      });
      assertEquals(answer.status, 404, `${method} ${path}`);
    }
  }
  const words = /metrics$/;
  assertEquals(routes.filter(({ path }) => words.test(path)), []);
  await close();
});

Deno.test("every POST can be repeated, but for those that leases make so", async () => {
  const { routes, close } = await open();
  const others = routes.filter((route) =>
    route.method === "POST" && route.isIdempotent !== true
  ).map(({ path }) => path);
  // Repeated reports about a lease have no further effect anyway.
  assertEquals(others.filter((path) => !/lease/.test(path)), []);
  await close();
});

Deno.test("only what must be public is", async () => {
  const { routes, close } = await open();
  const open_ = routes.filter(({ access }) => access.kind === "public");
  assertEquals(
    new Set(open_.map(({ path }) => path)),
    new Set([
      "/",
      "/plans",
      "/prices",
      "/healthz",
      "/readyz",
      "/openapi.json",
      "/docs",
      "/problems/:code",
    ]),
  );
  const operated = routes.filter(({ hosts }) => hosts === "accounts_admin");
  assert(operated.every(({ access }) => access.kind === "operator"));
  await close();
});

Deno.test("no route of a tenant answers without credentials, or to those of another tenant", async () => {
  const { api, routes, close } = await open();
  const other = await api.addTenant("globex");
  for (const route of routes) {
    if (route.hosts !== "tenant" || route.access.kind === "lease") continue;
    const path = fullPath(route, "tenant").replaceAll(/:[a-z_]+/g, "x1");
    const body = route.body === undefined ? {} : { body: {} };
    for (const key of [null, other.ownerKey]) {
      const answer = await api.call(route.method, path, { ...body, key });
      assertEquals(answer.status, 401, `${route.method} ${path}`);
    }
  }
  await close();
});

Deno.test("no tenant can be called like a path of the service", async () => {
  const { routes, close } = await open();
  const names = routes.filter(({ hosts }) => hosts !== "tenant")
    .map(({ path }) => path.split("/")[1] ?? "")
    .filter((name) => /^[a-z0-9-]+$/.test(name));
  assert(names.includes("readyz"));
  for (const name of names) {
    assertEquals(parseTenantDomain(name).kind, "reserved", name);
  }
  await close();
});

async function open(): Promise<{
  readonly api: Awaited<ReturnType<typeof openTestApi>>;
  readonly routes: readonly AnyRoute[];
  readonly close: () => Promise<void>;
}> {
  let routes: readonly AnyRoute[] = [];
  const api = await openTestApi({
    routes: (parts) => {
      routes = allRoutes(parts, { operations: openOperations(parts.engine) });
      return routes;
    },
  });
  return { api, routes, close: () => api.close() };
}
