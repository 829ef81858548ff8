import { assertEquals } from "@std/assert";
import { workerRoutes } from "./worker_routes.ts";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import { addTask, listRecordTypes } from "./testing/add_task.ts";

const PATH = "/v1/workers/mailer";

Deno.test("DELETE /v1/workers/:id removes a worker with secrets and credentials", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const other = await api.addWorker({ name: "other" });
  for (const name of ["mailer", "other"]) {
    const path = `/v1/workers/${name}/secrets`;
    await api.call("POST", path, { body: { name: "A", value: "12345678" } });
    await api.call("POST", path);
  }
  const gone = await api.call("DELETE", PATH);
  assertEquals(gone.status, 204);
  assertEquals(gone.text, "");
  assertEquals((await api.call("GET", PATH)).status, 404);
  assertEquals((await api.call("DELETE", PATH)).status, 404);
  const { secrets, credentials } = api.engine.parts.repositories;
  const left = async (id: string): Promise<number> =>
    (await secrets.all(worker.tenantId, id)).length +
    (await credentials.all(worker.tenantId, id)).length;
  assertEquals(await left(worker.id), 0);
  assertEquals(await left(other.id), 2);
  const [entry] = await api.store.audit({ tenantId: api.tenant.id, limit: 1 });
  assertEquals(entry?.action, "worker.removed");
  await api.close();
});

Deno.test("DELETE /v1/workers/:id refuses a worker with live tasks", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  await addTask(api, worker);
  await addTask(api, worker, { dateMs: api.clock.nowMs() + 60_000 });
  const refused = await api.call("DELETE", PATH);
  assertEquals(refused.status, 409);
  assertEquals(refused.at("code"), "worker_in_use");
  assertEquals(refused.at("live"), 2);
  const no = await api.call("DELETE", `${PATH}?cancel=false`);
  assertEquals(no.status, 409);
  assertEquals((await api.call("GET", PATH)).status, 200);
  await api.close();
});

Deno.test("DELETE /v1/workers/:id?cancel=true cancels all pages of tasks first", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const other = await api.addWorker({ name: "other" });
  const kept = await addTask(api, other);
  const tasks = [];
  for (let index = 0; index < 600; index++) {
    if (index % 100 === 0) api.clock.advance(1);
    tasks.push(await addTask(api, worker));
  }
  const [running] = await api.engine.leases.lease({
    tenantId: worker.tenantId,
    workerId: worker.id,
    max: 1,
    waitMs: 1_000,
  });
  const gone = await api.call("DELETE", `${PATH}?cancel=true`);
  assertEquals(gone.status, 204);
  const counts = await api.store.counts({
    tenantId: worker.tenantId,
    workerId: worker.id,
  });
  assertEquals(counts, { canceled: 600 });
  const first = tasks[0];
  if (first === undefined || running === undefined) throw new Error("none");
  assertEquals((await listRecordTypes(api, running.task)).at(-1), "canceled");
  const read = await api.store.task(kept.tenantId, kept.id);
  assertEquals(read?.status, "waiting");
  await api.close();
});

Deno.test("DELETE /v1/workers/:id leaves no live task behind when its client goes away", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const leaving = new AbortController();
  const commit = api.store.commit.bind(api.store);
  // Other requests create tasks between the count and the commit.
  api.store.commit = async (transactions) => {
    api.store.commit = commit;
    for (let index = 0; index < 300; index++) await addTask(api, worker);
    const results = await commit(transactions);
    leaving.abort();
    return results;
  };
  const { signal } = leaving;
  assertEquals((await api.call("DELETE", PATH, { signal })).status, 204);
  assertEquals((await api.call("GET", PATH)).status, 404);
  const { tenantId, id: workerId } = worker;
  const counts = await api.store.counts({ tenantId, workerId });
  assertEquals(counts, { canceled: 300 });
  await api.close();
});

Deno.test("DELETE /v1/workers/:id heeds If-Match and the tenant", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const task = await addTask(api, worker);
  const stale = await api.call("DELETE", `${PATH}?cancel=true`, {
    headers: { "if-match": '"7"' },
  });
  assertEquals(stale.status, 412);
  assertEquals(
    (await api.store.task(api.tenant.id, task.id))?.status,
    "waiting",
  );
  const other = await api.addTenant("globex");
  const foreign = await api.call("DELETE", `/v1/workers/${worker.id}`, {
    key: other.ownerKey,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(foreign.status, 404);
  assertEquals((await api.call("GET", PATH)).status, 200);
  await api.close();
});

Deno.test("DELETE /v1/workers/:id leaves no secret behind that is added meanwhile", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const worker = await api.addWorker();
  const [gone, added] = await Promise.all([
    api.call("DELETE", PATH),
    api.call("POST", `${PATH}/secrets`, { body: { name: "A", value: "x" } }),
  ]);
  assertEquals(gone.status, 204);
  assertEquals([201, 404].includes(added.status), true);
  const { secrets } = api.engine.parts.repositories;
  assertEquals(await secrets.all(worker.tenantId, worker.id), []);
  await api.close();
});

Deno.test("POST /v1/workers/:id/pause and /resume take no body, or one without fields", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  for (const verb of ["pause", "resume"]) {
    const path = `/v1/workers/mailer/${verb}`;
    const fetchStatus = async (
      body: unknown,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<number> =>
      (await api.call("POST", path, { body, headers })).status;
    assertEquals(await fetchStatus({ foo: 1 }), 422, verb);
    assertEquals(await fetchStatus("{"), 400, verb);
    assertEquals(await fetchStatus("x", { "content-type": "text/plain" }), 415);
    const worker = await api.call("GET", "/v1/workers/mailer");
    assertEquals(worker.at("paused"), verb === "resume");
    assertEquals(await fetchStatus({}), 200, verb);
    assertEquals((await api.call("POST", path)).status, 200, verb);
  }
  await api.close();
});

Deno.test("POST /v1/workers/:id/pause takes an Idempotency-Key for one body and no other", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  await api.addWorker();
  const pause = (body?: unknown): ReturnType<typeof api.call> =>
    api.call("POST", "/v1/workers/mailer/pause", {
      headers: { "idempotency-key": "once" },
      ...(body === undefined ? {} : { body }),
    });
  assertEquals((await pause()).status, 200);
  assertEquals((await pause()).headers["idempotency-replayed"], "true");
  const other = await pause({});
  assertEquals([other.status, other.at("code")], [
    422,
    "idempotency_key_reused",
  ]);
  await api.close();
});
