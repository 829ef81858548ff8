import { assert, assertEquals } from "@std/assert";
import { parseNetwork } from "../../shared/ip_network.ts";
import { allRoutes } from "../routes/all_routes.ts";
import { openOperations } from "../routes/tasks/bulk_routes.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
} from "../routes/testing/test_api.ts";

const PROXY = "192.0.2.7";

function open(
  options: Partial<Parameters<typeof openTestApi>[0]>,
): Promise<TestApi> {
  return openTestApi({
    routes: (parts) =>
      allRoutes(parts, {
        operations: openOperations(parts.engine),
        onTenantRemoved: () => {},
        tokens: undefined,
      }),
    ...options,
  });
}

Deno.test("links lead where the client asked when a proxy stands between", async () => {
  const parsed = parseNetwork(PROXY);
  assert(parsed.kind === "ok");
  const api = await open({ trustedProxies: [parsed.network] });
  const forwarded = (host: string) => ({
    host: "internal:8070",
    address: PROXY,
    headers: { "x-forwarded-host": host, "x-forwarded-proto": "https" },
  });
  const acme = forwarded(`acme.${SERVICE_HOST}`);
  const account = await api.call("GET", "/v1/account", acme);
  assertEquals(account.at("url"), `https://acme.${SERVICE_HOST}`);
  const missing = await api.call("GET", "/v1/tasks/none", acme);
  assertEquals(
    missing.at("type"),
    `https://acme.${SERVICE_HOST}/problems/not_found`,
  );
  const document = await api.call("GET", "/openapi.json", {
    ...forwarded(SERVICE_HOST),
    key: null,
  });
  assertEquals(
    document.at("servers", 0, "url"),
    `https://{tenant}.${SERVICE_HOST}/api`,
  );
  // A probe's host, which is no tenant's.
  const elsewhere = await api.call("GET", "/openapi.json", {
    ...forwarded("192.0.2.1"),
    key: null,
  });
  assert(elsewhere.textAt("servers", 0, "url").startsWith("https://"));
  await api.close();
});

Deno.test("links keep what names the tenant in the path, in development", async () => {
  const api = await open({ devFallback: true });
  const call = { host: "127.0.0.1:8070" };
  const worker = await api.call("POST", "/t/acme/api/v1/workers", {
    ...call,
    body: { name: "w" },
  });
  const base = "http://127.0.0.1:8070/t/acme/api/v1";
  assertEquals(
    worker.headers["location"],
    `${base}/workers/${worker.textAt("id")}`,
  );
  const moved = await api.call("GET", "/t/acme/api/v1/workers/?limit=1", call);
  assertEquals(
    [moved.status, moved.headers["location"]],
    [308, "/t/acme/api/v1/workers?limit=1"],
  );
  await api.close();
});

Deno.test("the type of a problem leads to its page, also in development", async () => {
  const api = await open({ devFallback: true });
  const call = { host: "127.0.0.1:8070" };
  const missing = await api.call("GET", "/t/acme/api/v1/tasks/none", call);
  const batch = await api.call("POST", "/t/acme/api/v1/tasks/batch", {
    ...call,
    body: { tasks: [{ worker: "none" }] },
  });
  const own = `${SERVICE_HOST}:8070`;
  const document = await api.call("GET", "/openapi.json", {
    host: own,
    key: null,
  });
  const examples = ["components", "examples", "too_large", "value", "type"];
  for (
    const [type, at, code] of [
      [missing.textAt("type"), call.host, "not_found"],
      [
        batch.textAt("results", 0, "problem", "type"),
        call.host,
        "unknown_worker",
      ],
      [document.textAt(...examples), own, "too_large"],
    ] as const
  ) {
    assertEquals(type, `http://${at}/problems/${code}`);
    const { host, pathname } = new URL(type);
    const page = await api.call("GET", pathname, { host, key: null });
    assertEquals([page.status, page.at("code")], [200, code]);
  }
  await api.close();
});
