import { assert, assertEquals, assertMatch } from "@std/assert";
import { createAllowList } from "../../delivery/testing/create_allow_list.ts";
import { startWorker } from "../../delivery/testing/worker_server.ts";
import { PushCaller } from "../../delivery/push_call.ts";
import { WebhookFeed } from "../../engine/webhooks/webhook_feed.ts";
import { internalTenant } from "../../engine/workers.ts";
import { auditRoute } from "../account/account_reports.ts";
import { openOperations } from "../tasks/bulk_routes.ts";
import { taskRoutes } from "../tasks/task_routes.ts";
import { listFaults } from "../tasks/testing/tasks_api.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
  type TestApiOptions,
} from "../testing/test_api.ts";
import { deliveryRoutes } from "./delivery_routes.ts";
import { webhookRoutes } from "./webhook_routes.ts";

const URL = "https://hooks.example.com/a";

function open(options: Partial<TestApiOptions> = {}): Promise<TestApi> {
  return openTestApi({
    routes: (parts) => [
      ...webhookRoutes(parts),
      ...deliveryRoutes(parts),
      ...taskRoutes(parts, { operations: openOperations(parts.engine) }),
      auditRoute(parts),
    ],
    ...options,
  });
}

async function create(api: TestApi, body = {}): Promise<string> {
  const made = await api.call("POST", "/v1/webhooks", {
    body: { url: URL, ...body },
  });
  assertEquals(made.status, 201, made.text);
  return made.textAt("id");
}

Deno.test("the routes of webhooks make, list, read, change and remove one", async () => {
  const api = await open();
  const worker = await api.addWorker();
  const made = await api.call("POST", "/v1/webhooks", {
    body: { url: URL, worker: "mailer", types: ["task.*", "quota.near"] },
  });
  assertEquals(made.status, 201, made.text);
  assertMatch(made.textAt("signing_secret"), /^whsec_/);
  assertEquals(made.at("worker"), worker.id);
  const path = `/v1/webhooks/${made.textAt("id")}`;
  const read = await api.call("GET", path);
  assertEquals(read.at("signing_secret"), undefined);
  assertEquals(read.at("open_deliveries"), 0);
  const list = await api.call("GET", "/v1/webhooks");
  assertEquals(list.at("data", 0), read.json);
  const changed = await api.call("PATCH", path, {
    body: { worker: null, job: "mail" },
    headers: { "if-match": read.headers["etag"]! },
  });
  assertEquals([changed.status, changed.at("version")], [200, 2]);
  assertEquals([changed.at("worker"), changed.at("job")], [null, "mail"]);
  const stale = await api.call("DELETE", path, {
    headers: { "if-match": read.headers["etag"]! },
  });
  assertEquals(stale.status, 412);
  assertEquals((await api.call("DELETE", path)).status, 204);
  assertEquals((await api.call("GET", path)).status, 404);
  const audit = await api.call("GET", "/v1/audit");
  assertEquals(
    [0, 1, 2].map((place) => audit.at("data", place, "action")),
    ["webhook.removed", "webhook.updated", "webhook.created"],
  );
  await api.close();
});

Deno.test("POST /v1/webhooks refuses closed addresses, unknown types and unknown workers", async () => {
  const api = await open();
  const bad = await api.call("POST", "/v1/webhooks", {
    body: { url: "https://10.0.0.1/", types: ["task.flew"], worker: "none" },
  });
  assertEquals(bad.status, 422);
  assertEquals(listFaults(bad), [
    ["/url", "address_not_public"],
    ["/types/0", "not_allowed"],
    ["/worker", "unknown_worker"],
  ]);
  const path = `/v1/webhooks/${await create(api)}`;
  const changed = await api.call("PATCH", path, {
    body: { url: "http://localhost/" },
  });
  assertEquals(changed.status, 422);
  await api.close();
});

Deno.test("webhooks are sent only what those who make and change them may see", async () => {
  const api = await open();
  const key = await api.addKey({
    role: undefined,
    scopes: ["webhooks:write", "tasks:read"],
  });
  const make = (types: readonly string[]) =>
    api.call("POST", "/v1/webhooks", { body: { url: URL, types }, key });
  const denied = await make(["task.*", "user.*"]);
  assertEquals([denied.status, denied.at("scope")], [403, "audit:read"]);
  assertEquals((await make(["task.*"])).status, 201);
  const wide = await create(api, { types: ["*"] });
  const taken = await api.call("PATCH", `/v1/webhooks/${wide}`, {
    body: { url: "https://thief.example.com/" },
    key,
  });
  assertEquals(taken.status, 403);
  const viewer = await api.addKey({ role: "viewer" });
  const seen = await api.call("GET", "/v1/webhooks", { key: viewer });
  assertEquals(seen.status, 403);
  await api.close();
});

Deno.test("POST /v1/webhooks needs a master key, and ends at 20 webhooks", async () => {
  const keyless = await open({ hasMasterKey: false });
  const refused = await keyless.call("POST", "/v1/webhooks", {
    body: { url: URL },
  });
  assertEquals([refused.status, refused.at("code")], [
    503,
    "secrets_unavailable",
  ]);
  await keyless.close();
  const api = await open();
  for (let count = 0; count < 20; count++) await create(api);
  const full = await api.call("POST", "/v1/webhooks", { body: { url: URL } });
  assertEquals([full.status, full.at("code")], [403, "quota_exceeded"]);
  await api.close();
});

Deno.test("an answer that is given again for an Idempotency-Key has no signing secret", async () => {
  const api = await open();
  const post = (path: string, body?: unknown) =>
    api.call("POST", path, {
      body,
      headers: { "idempotency-key": "same" },
    });
  const made = await post("/v1/webhooks", { url: URL });
  const again = await post("/v1/webhooks", { url: URL });
  assertEquals(again.at("id"), made.at("id"));
  assertEquals(again.at("signing_secret"), null);
  await api.close();
});

Deno.test("PATCH /v1/webhooks/:id that enables one begins with what happens from then on", async () => {
  const api = await open();
  await api.addWorker();
  const feed = new WebhookFeed({
    parts: api.engine.parts,
    changes: api.engine.changes,
  });
  const id = await create(api, { enabled: false });
  const path = `/v1/webhooks/${id}`;
  assertEquals((await api.call("GET", path)).at("enabled"), false);
  const makeTask = async () =>
    (await api.call("POST", "/v1/tasks", { body: { worker: "mailer" } }))
      .textAt("id");
  await makeTask();
  const enabled = await api.call("PATCH", path, { body: { enabled: true } });
  assertEquals(enabled.at("disabled_at"), null);
  const task = await makeTask();
  await api.engine.parts.instances.join();
  feed.start();
  await api.clock.advanceAsync(1_000);
  const list = await api.call("GET", "/v1/deliveries");
  assertEquals(list.at("data", 0, "task"), task);
  assertEquals(list.at("data", 1), undefined);
  assertEquals(list.at("data", 0, "status"), "pending");

  // Filters, and a single one with its body.
  const count = async (query: string): Promise<number> => {
    const { json } = await api.call("GET", `/v1/deliveries?${query}`);
    return Object(json).data.length;
  };
  assertEquals(await count(`webhook=${id}&task=${task}`), 1);
  assertEquals(await count("type=task.created&status=pending"), 1);
  assertEquals(await count("status=delivered"), 0);
  assertEquals(await count("webhook=wrk_callbacks"), 0);
  const delivery = `/v1/deliveries/${list.textAt("data", 0, "id")}`;
  const detail = await api.call("GET", delivery);
  assertEquals(JSON.parse(detail.textAt("request")).data.task, task);
  const early = await api.call("POST", `${delivery}/redeliver`);
  assertEquals([early.status, early.at("code")], [409, "wrong_state"]);
  // Those of another tenant are not found.
  const other = await api.addTenant("other");
  const stolen = await api.call("GET", delivery, {
    key: other.ownerKey,
    host: `other.${SERVICE_HOST}`,
  });
  assertEquals(stolen.status, 404);
  const { complete, waiting } = await api.store.counts({
    tenantId: internalTenant(api.tenant.id),
  });
  assertEquals([complete ?? 0, waiting], [0, 1]);
  await feed.stop();
  await api.close();
});

Deno.test("POST /v1/webhooks/:id/test sends one signed event and tells what came back", async () => {
  const got: string[] = [];
  let status = 500;
  await using server = await startWorker((request, response) => {
    got.push(String(request.headers["webhook-id"]));
    response.writeHead(status).end("it is full");
  });
  const allowList = createAllowList("127.0.0.1");
  const targets = { allowHttp: true, allowList };
  const api = await open({ targets, caller: new PushCaller(targets) });
  const id = await create(api, { url: `http://127.0.0.1:${server.port}/` });
  const test = () => api.call("POST", `/v1/webhooks/${id}/test`);
  const failed = await test();
  assertEquals(failed.at("outcome"), "failed");
  assertEquals(failed.at("answer", "body"), "it is full");
  assertEquals(failed.at("error", "code"), "http_status");
  status = 200;
  const fine = await test();
  assertEquals([fine.at("outcome"), fine.at("error")], ["delivered", null]);
  assertEquals(got, [failed.textAt("id"), fine.textAt("id")]);
  assert(fine.textAt("id").startsWith("evt_"));
  await api.close();
});
