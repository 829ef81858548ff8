import { BLANK_DEFINITION } from "../../domain/task.ts";
import { createTask } from "../../engine/testing/create_tasks.ts";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { ApiParts } from "../api_parts.ts";
import type { AnyRoute } from "../../http/route.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
} from "../testing/test_api.ts";
import { addUser, listMembers } from "../users/testing/add_user.ts";
import { accountRoutes, meRoute } from "./account_routes.ts";
import { auditRoute, usageRoute } from "./account_reports.ts";

Deno.test("GET /v1/account shows the tenant with the address clients use", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const port = `acme.${SERVICE_HOST}:8070`;
  const read = await api.call("GET", "/v1/account", { host: port });
  assertEquals(read.json, {
    id: api.tenant.id,
    domain: "acme",
    url: `http://${port}`,
    status: "active",
    plan: "test",
    timezone: "UTC",
    created_at: "2027-01-15T08:00:00.000Z",
    updated_at: "2027-01-15T08:00:00.000Z",
  });
  const same = await api.call("GET", "/v1/account", {
    headers: { "if-none-match": read.headers["etag"] ?? "" },
  });
  assertEquals(same.status, 304);
  await api.close();
});

Deno.test("PUT and PATCH /v1/account change the time zone and nothing else", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const read = await api.call("GET", "/v1/account");
  const etag = read.headers["etag"] ?? "";
  const put = await api.call("PUT", "/v1/account", {
    body: { ...asObject(read.json), timezone: "europe/stockholm" },
    headers: { "if-match": etag },
  });
  assertEquals([put.status, put.at("timezone")], [200, "Europe/Stockholm"]);
  assertNotEquals(put.headers["etag"], etag);
  const stale = await api.call("PUT", "/v1/account", {
    body: { timezone: "UTC" },
    headers: { "if-match": etag },
  });
  assertEquals(stale.status, 412);
  const patched = await api.call("PATCH", "/v1/account", {
    body: { timezone: null },
    headers: { "content-type": "application/merge-patch+json" },
  });
  assertEquals(patched.at("timezone"), "UTC");
  for (
    const body of [{ plan: "team" }, { status: "suspended" }, { domain: "x" }]
  ) {
    const refused = await api.call("PUT", "/v1/account", { body });
    assertEquals([refused.status, refused.at("code")], [422, "read_only"]);
  }
  const zone = await api.call("PUT", "/v1/account", {
    body: { timezone: "Stockholm" },
  });
  assertEquals([zone.status, zone.at("code")], [422, "bad_timezone"]);
  const log = await api.call("GET", "/v1/audit");
  assertEquals(listMembers(log.at("data"), "action"), [
    "account.updated",
    "account.updated",
  ]);
  await api.close();
});

Deno.test("only an owner changes or removes the tenant", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const key = await api.addKey({ role: "admin" });
  const change = await api.call("PUT", "/v1/account", {
    body: { timezone: "UTC" },
    key,
  });
  assertEquals([change.status, change.at("scope")], [403, "account:write"]);
  const removal = await api.call("DELETE", "/v1/account?confirm=acme", { key });
  assertEquals(removal.status, 403);
  await api.close();
});

Deno.test("DELETE /v1/account wants the domain as confirmation, then ends service at once", async () => {
  let removed = 0;
  const api = await openTestApi({
    routes: (parts) => accountRoutes(parts, () => removed++),
  });
  for (const query of ["", "?confirm=", "?confirm=globex"]) {
    const refused = await api.call("DELETE", `/v1/account${query}`);
    assertEquals([refused.status, removed], [422, 0]);
  }
  const other = await api.call("DELETE", "/v1/account?confirm=acme", {
    headers: { "if-match": '"99"' },
  });
  assertEquals([other.status, removed], [412, 0]);
  const gone = await api.call("DELETE", "/v1/account?confirm=acme");
  assertEquals([gone.status, removed], [204, 1]);
  const after = await api.call("GET", "/v1/account");
  assertEquals([after.status, after.at("code")], [404, "tenant_not_found"]);
  await api.close();
});

Deno.test("GET /v1/me tells who calls", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const ada = await addUser(api, { role: "admin", status: "active" });
  const key = await api.addKey({
    scopes: ["account:read", "tasks:read"],
    payloads: false,
    madeBy: ada.id,
  });
  const me = await api.call("GET", "/v1/me", { key });
  assertEquals(me.at("type"), "key");
  assertEquals(me.at("id"), key.slice(0, 19));
  assertEquals(me.at("scopes"), ["tasks:read", "account:read"]);
  assertEquals(me.at("payloads"), false);
  assertEquals(me.at("tenant"), { id: api.tenant.id, domain: "acme" });
  assertEquals(me.at("user", "id"), ada.id);
  assertEquals(me.at("key", "made_by"), ada.id);
  const owner = await api.call("GET", "/v1/me");
  assertEquals(owner.at("user"), null);
  assertEquals(owner.at("key", "role"), "owner");
  assertEquals((await api.call("GET", "/v1/me", { key: null })).status, 401);
  await api.close();
});

Deno.test("GET /v1/usage tells all limits with their use", async () => {
  const api = await openTestApi({
    routes: createRoutes,
    limits: { activeTasks: 5, executionsPerMonth: 100, users: 2 },
  });
  await addUser(api);
  // The key has ended, so the plan does not count it.
  await api.addKey({ expiresAtMs: api.clock.nowMs() });
  const worker = await api.addWorker();
  await addTasks(api, { count: 3, workerId: worker.id });
  api.engine.usage.count(api.tenant.id, 7);
  const usage = await api.call("GET", "/v1/usage");
  assertEquals(usage.at("plan"), "test");
  assertEquals(usage.at("period"), "2027-01");
  assertEquals(usage.at("use"), {
    active_tasks: { limit: 5, used: 3, is_exact: true },
    executions_per_month: { limit: 100, used: 7, is_exact: true },
    workers: { limit: null, used: 1, is_exact: true },
    users: { limit: 2, used: 1, is_exact: true },
    keys: { limit: null, used: 1, is_exact: true },
  });
  assertEquals(usage.at("limits", "min_interval"), "PT1S");
  assertEquals(usage.at("limits", "retention_days"), 30);
  await api.close();
});

Deno.test("GET /v1/usage says where counting stopped", async () => {
  const api = await openTestApi({ routes: createRoutes, limits: { users: 2 } });
  for (let index = 0; index < 4; index++) {
    await addUser(api, { email: `u${index}@b.c` });
  }
  const usage = await api.call("GET", "/v1/usage");
  assertEquals(usage.at("use", "users"), {
    limit: 2,
    used: 3,
    is_exact: false,
  });
  await api.close();
});

Deno.test("GET /v1/audit goes back page by page and needs its scope", async () => {
  const api = await openTestApi({ routes: createRoutes });
  const zones = ["Europe/Stockholm", "Europe/Berlin", "Asia/Tokyo", "UTC"];
  for (const timezone of zones) {
    await api.call("PUT", "/v1/account", { body: { timezone } });
  }
  const seen: unknown[] = [];
  let path = "/v1/audit?limit=3";
  for (let pages = 0; pages < 2; pages++) {
    const page = await api.call("GET", path);
    seen.push(...listMembers(page.at("data"), "number"));
    path = `/v1/audit?limit=3&cursor=${page.at("next")}`;
  }
  assertEquals(seen, [4, 3, 2, 1]);
  const key = await api.addKey({ role: "member" });
  const refused = await api.call("GET", "/v1/audit", { key });
  assertEquals([refused.status, refused.at("scope")], [403, "audit:read"]);
  const other = await api.addTenant("globex");
  const foreign = await api.call("GET", "/v1/audit", {
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(foreign.json, { data: [], next: null });
  await api.close();
});

function createRoutes(parts: ApiParts): readonly AnyRoute[] {
  return [
    ...accountRoutes(parts),
    meRoute(parts),
    usageRoute(parts),
    auditRoute(parts),
  ];
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  assert(typeof value === "object" && value !== null);
  return { ...value };
}

async function addTasks(
  api: TestApi,
  { count, workerId }: { readonly count: number; readonly workerId: string },
): Promise<void> {
  const worker = await api.engine.parts.workers.get(api.tenant.id, workerId);
  assert(worker !== undefined);
  for (let index = 0; index < count; index++) {
    await createTask(api.engine, {
      tenantId: api.tenant.id,
      worker,
      definition: {
        ...BLANK_DEFINITION,
        workerId,
      },
      isPaused: false,
      actor: { type: "user", id: "usr_test" },
    });
  }
}
