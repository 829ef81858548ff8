import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
} from "../testing/test_api.ts";
import { addTask } from "./testing/add_task.ts";
import { workerRoutes } from "./worker_routes.ts";

const PUSH = { name: "mailer", url: "https://mailer.example.com/tasks" };

Deno.test("POST /v1/workers makes a pull worker with the defaults", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made = await api.call("POST", "/v1/workers", {
    body: { name: "Mailer-1" },
  });
  assertEquals(made.status, 201);
  assertMatch(made.textAt("id"), /^wrk_[0-9a-z]{26}$/);
  assertEquals(
    made.headers.location,
    `http://acme.${SERVICE_HOST}/api/v1/workers/${made.textAt("id")}`,
  );
  assertEquals(made.headers.etag, '"1"');
  const nowText = new Date(api.clock.nowMs()).toISOString();
  assertEquals(made.json, {
    id: made.textAt("id"),
    name: "Mailer-1",
    kind: "pull",
    url: null,
    method: "POST",
    headers: {},
    jobs: null,
    concurrency: 10,
    limits: null,
    timeout: 30_000,
    lease: "PT30S",
    retain: null,
    max_lost: 3,
    paused: false,
    asymmetric: false,
    public_key: null,
    signing_secret: made.textAt("signing_secret"),
    paused_at: null,
    paused_by: null,
    status: "idle",
    last_seen_at: null,
    instances: [],
    counts: { waiting: 0, running: 0, retry: 0, failed: 0 },
    created_at: nowText,
    updated_at: nowText,
    version: 1,
    links: {
      self: `/api/v1/workers/${made.textAt("id")}`,
      secrets: `/api/v1/workers/${made.textAt("id")}/secrets`,
      tasks: `/api/v1/tasks?worker=${made.textAt("id")}`,
    },
  });
  // The secret of a pull worker signs the calls at the end of its tasks.
  assertMatch(made.textAt("signing_secret"), /^whsec_/);
  const read = await api.call("GET", `/v1/workers/${made.textAt("id")}`);
  const { signing_secret: _secret, ...told } = made.json as Record<
    string,
    unknown
  >;
  assertEquals(read.json, told);
  await api.close();
});

Deno.test("POST /v1/workers takes everything and tells it again", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made = await api.call("POST", "/v1/workers", {
    body: {
      name: "everything",
      url: "https://w.example.com/t?k={{secrets.KEY}}",
      method: "PUT",
      headers: { authorization: "Bearer {{ secrets.TOKEN }}" },
      jobs: {
        a: {},
        b: { url: "https://b.example.com/", timeout: "PT5S", retry: null },
      },
      concurrency: 0,
      limits: { rate: 5, per: "group", group_concurrency: 2 },
      timeout: "PT1M",
      lease: "45s",
      retry: { limit: 1, interval: "PT1S" },
      max_lost: 0,
      paused: true,
      asymmetric: true,
    },
  });
  assertEquals(made.status, 201);
  const worker = made.json as Record<string, unknown>;
  assertEquals(worker.kind, "push");
  assertEquals(worker.url, "https://w.example.com/t?k={{secrets.KEY}}");
  assertEquals(worker.method, "PUT");
  assertEquals(worker.jobs, {
    a: {},
    b: { url: "https://b.example.com/", timeout: 5_000, retry: null },
  });
  assertEquals(worker.limits, {
    rate: 5,
    period: "PT1S",
    per: "group",
    group_concurrency: 2,
  });
  assertEquals(worker.timeout, 60_000);
  assertEquals(worker.lease, "PT45S");
  assertEquals(worker.retry, { limit: 1, interval: "PT1S" });
  assertEquals(worker.max_lost, 0);
  assertEquals(worker.status, "paused");
  assertMatch(String(worker.paused_by), /^key:dk_/);
  assertMatch(made.textAt("public_key"), /^whpk_/);
  assertMatch(made.textAt("signing_secret"), /^whsec_/);
  assertEquals(made.headers["cache-control"], "no-store");
  const read = await api.call("GET", "/v1/workers/EVERYTHING");
  assertEquals(read.at("signing_secret"), undefined);
  assertEquals(read.at("public_key"), made.at("public_key"));
  await api.close();
});

Deno.test("POST /v1/workers refuses what is no good worker", async (t) => {
  const api = await openTestApi({ routes: workerRoutes });
  const cases: [string, Record<string, unknown>, string, string][] = [
    ["no name", {}, "/name", "required"],
    ["a name with a space", { name: "a b" }, "/name", "wrong_form"],
    ["a name like an id", { name: "wrk_1" }, "/name", "wrong_form"],
    ["a name like an id in capitals", { name: "WRK_1" }, "/name", "wrong_form"],
    ["a comma in the name", { name: "a,b" }, "/name", "wrong_form"],
    [
      "a misspelt member",
      { name: "a", retires: 1 },
      "/retires",
      "unknown_field",
    ],
    [
      "no TLS",
      { ...PUSH, url: "http://a.example.com/" },
      "/url",
      "http_not_allowed",
    ],
    [
      "the loopback",
      { ...PUSH, url: "https://127.0.0.1/" },
      "/url",
      "address_not_public",
    ],
    [
      "the loopback in digits",
      { ...PUSH, url: "https://2130706433/" },
      "/url",
      "address_not_public",
    ],
    [
      "a user in the url",
      { ...PUSH, url: "https://u:p@a.example.com/" },
      "/url",
      "user_info",
    ],
    [
      "a secret in the host",
      { ...PUSH, url: "https://{{secrets.A}}.example.com/" },
      "/url",
      "bad_url",
    ],
    [
      "a broken reference",
      { ...PUSH, url: "https://a.example.com/{{secret.A}}" },
      "/url",
      "bad_url",
    ],
    [
      "a header of the service",
      { ...PUSH, headers: { "Webhook-Id": "1" } },
      "/headers/Webhook-Id",
      "bad_header",
    ],
    [
      "a user agent",
      { ...PUSH, headers: { "user-agent": "1" } },
      "/headers/user-agent",
      "bad_header",
    ],
    [
      "a header of the connection",
      { ...PUSH, headers: { host: "x" } },
      "/headers/host",
      "bad_header",
    ],
    [
      "a line end in a header",
      { ...PUSH, headers: { a: "b\r\nc: d" } },
      "/headers/a",
      "bad_header",
    ],
    [
      "a broken reference in a header",
      { ...PUSH, headers: { a: "{{x}}" } },
      "/headers/a",
      "bad_header",
    ],
    [
      "headers without a url",
      { name: "a", headers: { a: "b" } },
      "/headers",
      "needs_url",
    ],
    [
      "a key pair without a url",
      { name: "a", asymmetric: true },
      "/asymmetric",
      "needs_url",
    ],
    [
      "a job's url without a url",
      { name: "a", jobs: { x: { url: "https://a.example.com/" } } },
      "/jobs/x/url",
      "needs_url",
    ],
    [
      "a job's url that is private",
      { ...PUSH, jobs: { "x/y": { url: "https://10.0.0.1/" } } },
      "/jobs/x~1y/url",
      "address_not_public",
    ],
    ["no jobs", { name: "a", jobs: [] }, "/jobs", "too_few"],
    ["no jobs in the map", { name: "a", jobs: {} }, "/jobs", "too_few"],
    ["a job twice", { name: "a", jobs: ["x", "x"] }, "/jobs", "repeated"],
    ["a short lease", { name: "a", lease: "PT4S" }, "/lease", "too_small"],
    ["a long lease", { name: "a", lease: "PT61M" }, "/lease", "too_large"],
    ["a short timeout", { name: "a", timeout: 999 }, "/timeout", "too_small"],
    [
      "a long timeout",
      { name: "a", timeout: "PT25H" },
      "/timeout",
      "too_large",
    ],
    [
      "a bad retry",
      { name: "a", retry: { limit: -1 } },
      "/retry/limit",
      "bad_retry",
    ],
    [
      "a period without a rate",
      { name: "a", limits: { period: "PT1S" } },
      "/limits/rate",
      "required",
    ],
    [
      "negative concurrency",
      { name: "a", concurrency: -1 },
      "/concurrency",
      "too_small",
    ],
  ];
  for (const [what, body, pointer, code] of cases) {
    await t.step(what, async () => {
      const answer = await api.call("POST", "/v1/workers", { body });
      assertEquals(answer.status, 422, answer.text);
      const pointers = (answer.at("errors") as { pointer: string }[])
        .map((error) => error.pointer);
      const index = pointers.findIndex((one) => one.startsWith(pointer));
      assertNotEquals(index, -1, answer.text);
      assertEquals(answer.at("errors", index, "code"), code);
    });
  }
  await t.step("the kind that it is not", async () => {
    const answer = await api.call("POST", "/v1/workers", {
      body: { name: "a", kind: "push" },
    });
    assertEquals(answer.status, 422);
    assertEquals(answer.at("code"), "read_only");
  });
  await t.step("an id of the client", async () => {
    const answer = await api.call("POST", "/v1/workers", {
      body: { name: "a", id: "wrk_mine", kind: "pull" },
    });
    assertEquals(answer.at("errors", 0, "pointer"), "/id");
  });
  assertEquals((await api.call("GET", "/v1/workers")).at("data"), []);
  await api.close();
});

Deno.test("POST /v1/workers refuses a name that is taken, whatever the case", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker({ name: "Mailer" });
  const answer = await api.call("POST", "/v1/workers", {
    body: { name: "mAILER" },
  });
  assertEquals(answer.status, 409);
  assertEquals(answer.at("code"), "name_taken");
  const other = await api.addTenant("globex");
  const there = await api.call("POST", "/v1/workers", {
    body: { name: "mailer" },
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(there.status, 201);
  await api.close();
});

Deno.test("POST /v1/workers keeps to the plan, also when many are made at once", async () => {
  const api = await openTestApi({
    routes: workerRoutes,
    limits: { workers: 2 },
  });
  const answers = await Promise.all(
    ["a", "b", "c", "d"].map((name) =>
      api.call("POST", "/v1/workers", { body: { name } })
    ),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [201, 201, 403, 403]);
  const refused = answers.find(({ status }) => status === 403);
  assertEquals(refused?.at("code"), "quota_exceeded");
  assertEquals(refused?.at("limit"), 2);
  assertEquals(refused?.at("used"), 2);
  await api.close();
});

Deno.test("POST /v1/workers gives an answer again without the signing secret", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const headers = { "idempotency-key": "k1" };
  const first = await api.call("POST", "/v1/workers", { body: PUSH, headers });
  assertMatch(first.textAt("signing_secret"), /^whsec_/);
  const again = await api.call("POST", "/v1/workers", { body: PUSH, headers });
  assertEquals(again.status, 201);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(again.headers.location, first.headers.location);
  assertEquals(again.json, {
    ...first.json as Record<string, unknown>,
    signing_secret: null,
  });
  const secret = first.textAt("signing_secret");
  assertEquals(await holds(api, secret), false);
  await api.close();
});

Deno.test("POST /v1/workers works without a master key, but for key pairs", async () => {
  const api = await openTestApi({ routes: workerRoutes, hasMasterKey: false });
  const pair = await api.call("POST", "/v1/workers", {
    body: { ...PUSH, asymmetric: true },
  });
  assertEquals(pair.status, 503);
  assertEquals(pair.at("code"), "secrets_unavailable");
  const plain = await api.call("POST", "/v1/workers", { body: PUSH });
  assertEquals(plain.status, 201);
  assertEquals(plain.at("signing_secret"), null);
  await api.close();
});

Deno.test("GET /v1/workers pages through all workers of the tenant alone", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const other = await api.addTenant("globex");
  await api.addWorker({ tenantId: other.tenant.id, name: "theirs" });
  for (let index = 0; index < 5; index++) {
    await api.addWorker({ name: `w${index}` });
    api.clock.advance(1);
  }
  const names: unknown[] = [];
  let path = "/v1/workers?limit=2";
  for (let pages = 0; pages < 3; pages++) {
    const page = await api.call("GET", path);
    assertEquals(page.status, 200);
    const data = page.at("data") as readonly { readonly name: string }[];
    names.push(...data.map(({ name }) => name));
    const next = page.at("next");
    assertEquals(next === null, pages === 2);
    assertEquals(page.headers.link === undefined, next === null);
    path = `/v1/workers?limit=2&cursor=${next}`;
  }
  assertEquals(names, ["w0", "w1", "w2", "w3", "w4"]);
  const page = await api.call("GET", "/v1/workers?limit=2");
  const stolen = await api.call(
    "GET",
    `/v1/workers?limit=2&cursor=${page.textAt("next")}`,
    { key: other.ownerKey, host: `globex.${SERVICE_HOST}` },
  );
  assertEquals(stolen.at("code"), "bad_cursor");
  await api.close();
});

Deno.test("GET /v1/workers/:id finds by id and by name in its own tenant only", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const other = await api.addTenant("globex");
  const worker = await api.addWorker();
  const elsewhere = { key: other.ownerKey, host: `globex.${SERVICE_HOST}` };
  assertEquals((await api.call("GET", "/v1/workers/MAILER")).status, 200);
  const foreign = await api.call("GET", `/v1/workers/${worker.id}`, elsewhere);
  const unknown = await api.call("GET", "/v1/workers/wrk_nothing", elsewhere);
  assertEquals(foreign.status, 404);
  assertEquals(withoutIds(foreign.json), withoutIds(unknown.json));
  const named = await api.call("GET", "/v1/workers/mailer", elsewhere);
  assertEquals(named.status, 404);
  await api.close();
});

Deno.test("GET /v1/workers/:id answers 304 to who has the version", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const same = await api.call("GET", "/v1/workers/mailer", {
    headers: { "if-none-match": '"1"' },
  });
  assertEquals(same.status, 304);
  const other = await api.call("GET", "/v1/workers/mailer", {
    headers: { "if-none-match": '"2"' },
  });
  assertEquals(other.status, 200);
  await api.close();
});

Deno.test("GET /v1/workers/:id tells whether the worker is alive and what it has to do", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const { engine, clock } = api;
  const worker = await api.addWorker();
  const status = async (): Promise<unknown> =>
    (await api.call("GET", "/v1/workers/mailer")).at("status");
  assertEquals(await status(), "idle");
  const seenAtMs = clock.nowMs();
  engine.liveness.seen(
    { tenantId: worker.tenantId, workerId: worker.id },
    { instance: "web-1", nowMs: seenAtMs },
  );
  const read = await api.call("GET", "/v1/workers/mailer");
  const seen = new Date(seenAtMs).toISOString();
  assertEquals(read.at("status"), "active");
  assertEquals(read.at("last_seen_at"), seen);
  assertEquals(read.at("instances"), [{ name: "web-1", last_seen_at: seen }]);
  clock.advance(60_000);
  assertEquals(await status(), "stale");
  await addTask(api, worker);
  assertEquals(
    (await api.call("GET", "/v1/workers/mailer")).at("counts", "waiting"),
    1,
  );
  await api.close();
});

Deno.test("the routes of workers are for who may", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const viewer = await api.addKey({ role: "viewer" });
  const member = await api.addKey({ role: "member" });
  const reads = await api.call("GET", "/v1/workers", { key: viewer });
  assertEquals(reads.status, 200);
  const calls: [string, string][] = [
    ["POST", "/v1/workers"],
    ["PUT", "/v1/workers/mailer"],
    ["PATCH", "/v1/workers/mailer"],
    ["DELETE", "/v1/workers/mailer"],
    ["POST", "/v1/workers/mailer/pause"],
    ["POST", "/v1/workers/mailer/resume"],
    ["POST", "/v1/workers/mailer/test"],
    ["POST", "/v1/workers/mailer/secrets"],
    ["GET", "/v1/workers/mailer/secrets"],
    ["DELETE", "/v1/workers/mailer/secrets/A"],
  ];
  for (const [method, path] of calls) {
    const body = method === "GET" || method === "DELETE" ? {} : { body: {} };
    const answer = await api.call(method, path, { key: member, ...body });
    assertEquals(answer.status, 403, `${method} ${path}`);
    assertEquals(answer.at("code"), "forbidden");
  }
  await api.close();
});

/** Whether any record or kept answer has a text in it. */
async function holds(api: TestApi, text: string): Promise<boolean> {
  const { store, tenant } = api;
  for (const kind of ["worker", "secret", "credential", "service"] as const) {
    const page = await store.records({
      kind,
      tenantId: tenant.id,
      limit: 1_000,
    });
    if (page.records.some((record) => record.text.includes(text))) return true;
  }
  const audit = await store.audit({ tenantId: tenant.id, limit: 1_000 });
  return audit.some((entry) => entry.text.includes(text));
}

function withoutIds(problem: unknown): unknown {
  const { instance: _instance, request_id: _id, ...rest } = problem as Record<
    string,
    unknown
  >;
  return rest;
}

Deno.test("POST /v1/workers takes how long tasks are kept, for itself and for jobs, as far as the plan does", async () => {
  const limits = { retentionMs: 86_400_000 };
  const api = await openTestApi({ routes: workerRoutes, limits });
  const made = await api.call("POST", "/v1/workers", {
    body: {
      name: "mailer",
      retain: { succeeded: "PT1H" },
      jobs: { report: { retain: { failed: "P1D" } }, other: {} },
    },
  });
  assertEquals(made.at("retain"), { succeeded: "PT1H" });
  assertEquals(made.at("jobs"), {
    report: { retain: { failed: "PT24H" } },
    other: {},
  });
  const path = `/v1/workers/${made.textAt("id")}`;
  const faults = async (body: unknown): Promise<unknown> =>
    (await api.call("PATCH", path, { body })).at("errors", 0, "pointer");
  assertEquals(await faults({ retain: { failed: "P2D" } }), "/retain/failed");
  assertEquals(
    await faults({ jobs: { other: { retain: { succeeded: "P2D" } } } }),
    "/jobs/other/retain/succeeded",
  );
  const reset = await api.call("PUT", path, { body: { retain: null } });
  assertEquals([reset.status, reset.at("retain")], [200, null]);
  await api.close();
});

Deno.test("POST /v1/workers takes limits of groups that several workers share", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const make = (limits: unknown) =>
    api.call("POST", "/v1/workers", { body: { name: "mailer", limits } });
  const made = await make({ group_concurrency: 5, group_scope: "tenant" });
  assertEquals(made.at("limits"), {
    group_concurrency: 5,
    group_scope: "tenant",
  });
  const path = `/v1/workers/${made.textAt("id")}`;
  const change = async (limits: unknown): Promise<unknown> =>
    (await api.call("PUT", path, { body: { limits } })).at("limits");
  const rate = { rate: 3, period: "PT1S", per: "group" };
  assertEquals(await change({ ...rate, group_scope: "tenant" }), {
    ...rate,
    group_scope: "tenant",
  });
  assertEquals(await change({ ...rate, group_scope: "worker" }), rate);
  for (
    const limits of [{ group_scope: "tenant" }, {
      rate: 3,
      group_scope: "tenant",
    }]
  ) {
    const refused = await make(limits);
    assertEquals(refused.at("errors", 0, "pointer"), "/limits/group_scope");
  }
  await api.close();
});
