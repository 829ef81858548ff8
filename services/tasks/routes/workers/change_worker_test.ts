import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { openTestApi } from "../testing/test_api.ts";
import { addTask } from "./testing/add_task.ts";
import { workerRoutes } from "./worker_routes.ts";

const PUSH = {
  name: "mailer",
  url: "https://mailer.example.com/tasks",
  headers: { "x-a": "1", "x-b": "2" },
  limits: { rate: 5, period: "PT1M" },
  retry: { limit: 1, interval: "PT1S" },
} as const;
const PATH = "/v1/workers/mailer";

Deno.test("PUT /v1/workers/:id changes what is given and keeps the rest", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made = await api.call("POST", "/v1/workers", { body: PUSH });
  api.clock.advance(1_000);
  const changed = await api.call("PUT", PATH, {
    body: { concurrency: 3, jobs: ["a"] },
  });
  assertEquals(changed.status, 200);
  assertEquals(changed.headers.etag, '"2"');
  const { signing_secret: _secret, ...before } = made.json as Record<
    string,
    unknown
  >;
  assertEquals(changed.json, {
    ...before,
    concurrency: 3,
    jobs: { a: {} },
    version: 2,
    updated_at: new Date(api.clock.nowMs()).toISOString(),
  });
  const [entry] = await api.store.audit({ tenantId: api.tenant.id, limit: 1 });
  assertEquals(entry?.action, "worker.updated");
  const text = JSON.parse(entry?.text ?? "{}");
  assertEquals(text.target, made.textAt("id"));
  assertEquals(text.detail, {
    name: "mailer",
    fields: ["jobs", "concurrency"],
  });
  await api.close();
});

Deno.test("PUT /v1/workers/:id resets with null, but for retry, where null means none", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.call("POST", "/v1/workers", { body: PUSH });
  const changed = await api.call("PUT", PATH, {
    body: {
      url: null,
      headers: null,
      limits: null,
      concurrency: null,
      timeout: null,
      retry: null,
    },
  });
  assertEquals(changed.status, 200, changed.text);
  assertEquals(changed.at("kind"), "pull");
  assertEquals(changed.at("headers"), {});
  assertEquals(changed.at("limits"), null);
  assertEquals(changed.at("concurrency"), 10);
  assertEquals(changed.at("retry"), null);
  const reset = await api.call("PUT", PATH, { body: { retry: {} } });
  assertEquals(reset.at("retry"), {});
  const nameless = await api.call("PUT", PATH, { body: { name: null } });
  assertEquals(nameless.status, 422);
  await api.close();
});

Deno.test("PUT /v1/workers/:id takes a worker back as it was told, and then writes nothing", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made = await api.call("POST", "/v1/workers", { body: PUSH });
  // Members that change by themselves have changed since.
  const worker = await api.engine.parts.workers
    .get(api.tenant.id, made.textAt("id"));
  if (worker === undefined) throw new Error("no worker");
  await addTask(api, worker);
  const same = await api.call("PUT", PATH, { body: made.json });
  assertEquals(same.status, 200, same.text);
  assertEquals(same.headers.etag, '"1"');
  assertEquals(same.at("counts", "waiting"), 1);
  await api.close();
});

Deno.test("PUT /v1/workers/:id refuses other values of what the service decides", async (t) => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.call("POST", "/v1/workers", { body: PUSH });
  const cases: Record<string, unknown> = {
    id: "wrk_other",
    kind: "pull",
    version: 7,
    created_at: "2020-01-01T00:00:00.000Z",
    public_key: "whpk_x",
    signing_secret: "whsec_x",
    status: "paused",
  };
  for (const [name, value] of Object.entries(cases)) {
    await t.step(name, async () => {
      const answer = await api.call("PUT", PATH, { body: { [name]: value } });
      assertEquals(answer.status, 422);
      assertEquals(answer.at("code"), "read_only");
      assertEquals(answer.at("errors", 0, "pointer"), `/${name}`);
    });
  }
  await api.close();
});

Deno.test("PUT /v1/workers/:id renames, keeps tasks, and keeps names unique", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker({ name: "old" });
  await api.addWorker({ name: "taken" });
  const task = await addTask(api, worker);
  const renamed = await api.call("PUT", "/v1/workers/old", {
    body: { name: "New" },
  });
  assertEquals(renamed.status, 200);
  assertEquals((await api.call("GET", "/v1/workers/old")).status, 404);
  const read = await api.call("GET", "/v1/workers/new");
  assertEquals(read.at("counts", "waiting"), 1);
  const kept = await api.store.task(api.tenant.id, task.id);
  assertEquals(kept?.workerId, worker.id);
  const taken = await api.call("PUT", "/v1/workers/new", {
    body: { name: "TAKEN" },
  });
  assertEquals(taken.status, 409);
  assertEquals(taken.at("code"), "name_taken");
  const recased = await api.call("PUT", "/v1/workers/new", {
    body: { name: "NEW" },
  });
  assertEquals(recased.status, 200);
  assertEquals(recased.at("name"), "NEW");
  await api.close();
});

Deno.test("PUT /v1/workers/:id makes a signing secret when it makes a push worker", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const changed = await api.call("PUT", PATH, {
    body: { url: "https://a.example.com/", asymmetric: true },
  });
  assertEquals(changed.status, 200, changed.text);
  assertMatch(changed.textAt("signing_secret"), /^whsec_/);
  const publicKey = changed.textAt("public_key");
  const off = await api.call("PUT", PATH, { body: { asymmetric: false } });
  assertEquals(off.at("public_key"), null);
  assertEquals(off.at("signing_secret"), undefined);
  const on = await api.call("PUT", PATH, { body: { asymmetric: true } });
  assertNotEquals(on.textAt("public_key"), publicKey);
  await api.close();
});

Deno.test("PUT /v1/workers/:id heeds If-Match", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const put = (etag: string): ReturnType<typeof api.call> =>
    api.call("PUT", PATH, {
      body: { concurrency: 1 },
      headers: { "if-match": etag },
    });
  assertEquals((await put('"2"')).status, 412);
  assertEquals((await put("2")).status, 400);
  assertEquals((await put('"1"')).status, 200);
  assertEquals((await put('"1"')).status, 412);
  await api.close();
});

Deno.test("PUT /v1/workers/:id keeps changes that are made at once", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const bodies = [{ concurrency: 7 }, { max_lost: 9 }, { lease: "PT50S" }];
  const answers = await Promise.all(
    bodies.map((body) => api.call("PUT", PATH, { body })),
  );
  assertEquals(answers.map(({ status }) => status), [200, 200, 200]);
  const read = await api.call("GET", PATH);
  assertEquals(read.at("concurrency"), 7);
  assertEquals(read.at("max_lost"), 9);
  assertEquals(read.at("lease"), "PT50S");
  assertEquals(read.at("version"), 4);
  await api.close();
});

Deno.test("PATCH /v1/workers/:id merges members one by one", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.call("POST", "/v1/workers", { body: PUSH });
  const changed = await api.call("PATCH", PATH, {
    body: {
      headers: { "x-a": null, "x-c": "3" },
      limits: { rate: 6 },
      retry: { limit: 4 },
      jobs: { a: { timeout: 2_000 } },
    },
    headers: { "content-type": "application/merge-patch+json" },
  });
  assertEquals(changed.status, 200, changed.text);
  assertEquals(changed.at("headers"), { "x-b": "2", "x-c": "3" });
  assertEquals(changed.at("limits"), {
    rate: 6,
    period: "PT1M",
    per: "worker",
  });
  assertEquals(changed.at("retry"), { limit: 4, interval: "PT1S" });
  const more = await api.call("PATCH", PATH, {
    body: { jobs: { b: {}, a: { timeout: null } } },
  });
  assertEquals(more.at("jobs"), { a: {}, b: {} });
  const whole = await api.call("PATCH", PATH, {
    body: { jobs: { a: null, b: null, c: {} }, headers: null },
  });
  assertEquals(whole.at("jobs"), { c: {} });
  assertEquals(whole.at("headers"), {});
  await api.close();
});

Deno.test("PATCH /v1/workers/:id refuses what PUT refuses", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const cases: [unknown, string][] = [
    [[], "wrong_type"],
    [{ retires: 1 }, "unknown_field"],
    [{ __proto__x: 1 }, "unknown_field"],
    [{ constructor: { a: 1 } }, "unknown_field"],
    [{ headers: { a: "b" } }, "needs_url"],
    [{ version: 5 }, "read_only"],
    [{ lease: "1s" }, "too_small"],
  ];
  for (const [body, code] of cases) {
    const answer = await api.call("PATCH", PATH, { body });
    assertEquals(answer.status, 422, answer.text);
    assertEquals(answer.at("errors", 0, "code"), code);
  }
  const missing = await api.call("PATCH", "/v1/workers/none", { body: {} });
  assertEquals(missing.status, 404);
  await api.close();
});

Deno.test("POST /v1/workers/:id/pause stops a worker until it is resumed", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const paused = await api.call("POST", `${PATH}/pause`);
  assertEquals(paused.status, 200);
  assertEquals(paused.at("paused"), true);
  assertEquals(paused.at("status"), "paused");
  assertEquals(
    paused.at("paused_at"),
    new Date(api.clock.nowMs()).toISOString(),
  );
  assertMatch(paused.textAt("paused_by"), /^key:dk_/);
  api.clock.advance(5_000);
  const twice = await api.call("POST", `${PATH}/pause`);
  assertEquals(twice.json, paused.json);
  // A change of something else keeps when and by whom it was paused.
  const changed = await api.call("PUT", PATH, { body: { concurrency: 1 } });
  assertEquals(changed.at("paused_at"), paused.at("paused_at"));
  await addTask(api, worker);
  const leased = api.engine.leases.lease({
    tenantId: worker.tenantId,
    workerId: worker.id,
    max: 1,
    waitMs: 10_000,
  });
  await api.clock.advanceAsync(1_000);
  const resumed = await api.call("POST", `${PATH}/resume`);
  assertEquals(resumed.at("paused"), false);
  assertEquals(resumed.at("paused_by"), null);
  assertEquals((await leased).length, 1);
  const actions = (await api.store.audit({
    tenantId: api.tenant.id,
    limit: 10,
  })).map(({ action }) => action);
  assertEquals(actions, ["worker.resumed", "worker.updated", "worker.paused"]);
  await api.close();
});

Deno.test("POST /v1/workers/:id/pause gives the same answer to the same key", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const headers = { "idempotency-key": "k" };
  const first = await api.call("POST", `${PATH}/pause`, { headers });
  await api.call("POST", `${PATH}/resume`);
  const again = await api.call("POST", `${PATH}/pause`, { headers });
  assertEquals(again.json, first.json);
  assertEquals((await api.call("GET", PATH)).at("paused"), false);
  await api.close();
});
