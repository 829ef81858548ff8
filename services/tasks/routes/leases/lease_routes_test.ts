import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { SERVICE_HOST } from "../testing/test_api.ts";
import { addTask, listRecordTypes } from "../workers/testing/add_task.ts";
import { buildRemoval } from "../../engine/task_writes.ts";
import { openLeaseApi } from "./testing/lease_api.ts";

Deno.test("POST /v1/workers/:id/lease gives a task with what its worker needs", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer, {
    job: "welcome",
    dataJson: '{"to":"ada"}',
  });
  const answer = await api.lease({ instance: "web-1", lease: "PT10S" });
  assertEquals(answer.status, 200);
  assertEquals(answer.headers["cache-control"], "no-store");
  const lease = answer.at("leases", 0) as Record<string, unknown>;
  assertEquals(lease.id, `lse_${task.id.slice(4)}_1`);
  assertMatch(String(lease.token), /^lt_[\w-]{43}$/);
  assertEquals(lease.fence, 1);
  assertEquals(lease.run, 0);
  assertEquals(lease.attempt, 1);
  assertEquals(
    lease.expires_at,
    new Date(api.clock.nowMs() + 10_000).toISOString(),
  );
  assertEquals("secrets" in lease, false);
  assertEquals(answer.at("leases", 0, "task", "data"), { to: "ada" });
  assertEquals(answer.at("leases", 0, "task", "status"), "running");
  assertEquals(answer.at("leases", 0, "task", "worker"), "mailer");
  const worker = await api.call("GET", "/v1/workers/mailer");
  assertEquals(worker.at("status"), "active");
  assertEquals(worker.at("instances", 0, "name"), "web-1");
  assertEquals(worker.at("counts", "running"), 1);
  const token = String(lease.token);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(JSON.stringify(stored).includes(token), false);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives what a task's dependencies returned, as far as there is room", async () => {
  const api = await openLeaseApi();
  const long = { rows: "x".repeat(60_000) };
  const ids: string[] = [];
  for (let index = 0; index < 6; index++) {
    const { id } = await addTask(api, api.mailer);
    ids.push(id);
    await api.say(await api.take(), "complete", { result: long });
  }
  const gone = await addTask(api, api.mailer);
  const task = await addTask(api, api.mailer, {
    dependencies: [...ids, gone.id],
    onDependencyFailure: "run",
    job: "sum",
  });
  await api.engine.changes.apply({
    tenantId: api.tenant.id,
    id: gone.id,
    event: { kind: "cancel" },
    actor: { type: "system", id: "system" },
  });
  await api.clock.advanceAsync(0);
  const removed = await api.store.task(api.tenant.id, gone.id);
  await api.store.commit([{ writes: [buildRemoval(removed ?? task)] }]);
  const answer = await api.lease({ jobs: ["sum"] });
  const given = answer.at("leases", 0, "dependencies") as readonly Record<
    string,
    unknown
  >[];
  assertEquals(given.map(({ id }) => id), [...ids, gone.id]);
  assertEquals(given.map(({ status }) => status), [
    ...ids.map(() => "complete"),
    "removed",
  ]);
  assertEquals(given[0]?.result, long);
  assertEquals(
    given.map(({ result_omitted }) => result_omitted ?? false),
    [false, false, false, false, true, true, false],
  );
  assertEquals(given.at(-1)?.result, null);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives tasks back when their dependencies cannot be read", async () => {
  const api = await openLeaseApi();
  const first = await addTask(api, api.mailer);
  await api.say(await api.take(), "complete");
  const second = await addTask(api, api.mailer, { dependencies: [first.id] });
  const { store } = api.engine.parts;
  const { tasks } = store;
  const failsOnce = () => {
    Object.assign(store, { tasks });
    return Promise.reject(new Error("no disk"));
  };
  Object.assign(store, { tasks: failsOnce });
  assertEquals((await api.lease()).status, 500);
  assertEquals((await api.take()).taskId, second.id);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease shows only the work when return=minimal is preferred", async () => {
  const api = await openLeaseApi();
  const { id } = await addTask(api, api.mailer, {
    job: "welcome",
    dataJson: '{"to":"ada"}',
    metadata: { ticket: "7" },
  });
  const answer = await api.call("POST", "/v1/workers/mailer/lease", {
    headers: { prefer: "return=minimal" },
  });
  assertEquals(answer.headers["preference-applied"], "return=minimal");
  assertEquals(answer.at("leases", 0, "task"), {
    id,
    job: "welcome",
    data: { to: "ada" },
    metadata: { ticket: "7" },
  });
  assertEquals(answer.at("leases", 0, "attempt"), 1);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives as many as are wanted and no others", async () => {
  const api = await openLeaseApi();
  for (let index = 0; index < 5; index++) {
    await addTask(api, api.mailer, { job: index % 2 === 0 ? "a" : "b" });
  }
  const jobs = async (body: unknown): Promise<readonly unknown[]> =>
    ((await api.lease(body)).at("leases") as { task: { job: string } }[])
      .map(({ task }) => task.job);
  assertEquals(await jobs(undefined), ["a"]);
  assertEquals(await jobs({ max: 2, jobs: ["b"] }), ["b", "b"]);
  assertEquals(await jobs({ max: 100 }), ["a", "a"]);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease counts the tries of a run", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer, { retry: { limit: 2, interval: "PT1S" } });
  await api.engine.start();
  const first = await api.take();
  await api.say(first, "fail", { error: "no" });
  await api.clock.advanceAsync(2_000);
  const second = await api.lease();
  assertEquals(second.at("leases", 0, "attempt"), 2);
  assertEquals(second.at("leases", 0, "fence"), 2);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease waits for a task as long as was asked", async () => {
  const api = await openLeaseApi();
  let isAnswered = false;
  const empty = api.lease({ wait: "PT5S" }).then((answer) => {
    isAnswered = true;
    return answer;
  });
  await api.clock.advanceAsync(4_999);
  assertEquals(isAnswered, false);
  await api.clock.advanceAsync(1);
  assertEquals((await empty).json, { leases: [] });
  const waiting = api.lease({ wait: "30s" });
  await api.clock.advanceAsync(10_000);
  const task = await addTask(api, api.mailer);
  assertEquals((await waiting).at("leases", 0, "task", "id"), task.id);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease lets a worker that does not wait have what is there", async () => {
  const api = await openLeaseApi();
  assertEquals((await api.lease({ wait: "PT0S" })).json, { leases: [] });
  await addTask(api, api.mailer);
  assertNotEquals((await api.lease({ wait: "0s" })).at("leases", 0), undefined);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives nothing to a client that has gone", async () => {
  const api = await openLeaseApi();
  const client = new AbortController();
  const waiting = api.lease({ wait: "PT30S" }, { signal: client.signal });
  await api.clock.advanceAsync(1_000);
  client.abort();
  assertEquals((await waiting).json, { leases: [] });
  const task = await addTask(api, api.mailer);
  await api.clock.advanceAsync(1_000);
  assertEquals(await listRecordTypes(api, task), ["created"]);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease answers at once when the service stops", async () => {
  const api = await openLeaseApi();
  const waiting = api.lease({ wait: "PT30S" });
  await api.clock.advanceAsync(1_000);
  await api.engine.stop();
  assertEquals((await waiting).json, { leases: [] });
  const late = await api.lease({ wait: "PT30S" });
  assertEquals(late.json, { leases: [] });
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease refuses wishes out of bounds", async () => {
  const api = await openLeaseApi();
  const cases: [unknown, string][] = [
    [{ max: 0 }, "/max"],
    [{ max: 101 }, "/max"],
    [{ wait: "PT31S" }, "/wait"],
    [{ lease: "PT4S" }, "/lease"],
    [{ lease: "PT61M" }, "/lease"],
    [{ jobs: [] }, "/jobs"],
    [{ instance: "a\nb" }, "/instance"],
    [{ instance: "" }, "/instance"],
    [{ waiting: 1 }, "/waiting"],
  ];
  for (const [body, pointer] of cases) {
    const answer = await api.lease(body);
    assertEquals(answer.status, 422, answer.text);
    assertEquals(answer.at("errors", 0, "pointer"), pointer);
  }
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease opens a credential's own worker and no other", async () => {
  const api = await openLeaseApi();
  const other = await api.addWorker({ name: "other" });
  const task = await addTask(api, other);
  const globex = await api.addTenant("globex");
  const theirs = await api.addWorker({
    tenantId: globex.tenant.id,
    name: "theirs",
  });
  const elsewhere = `globex.${SERVICE_HOST}`;
  const lease = (
    worker: string,
    call: { key: string | null; host?: string },
  ): ReturnType<typeof api.call> =>
    api.call("POST", `/v1/workers/${worker}/lease`, call);
  const key = api.credential;
  for (const worker of ["other", other.id, theirs.id, "theirs", "nothing"]) {
    const answer = await lease(worker, { key });
    assertEquals(answer.status, 403, worker);
    assertEquals(answer.at("code"), "forbidden");
  }
  const foreign = await lease(theirs.id, { key, host: elsewhere });
  assertEquals(foreign.status, 401);
  assertEquals(foreign.at("code"), "invalid_credentials");
  assertEquals((await lease("other", { key: null })).status, 401);
  assertEquals(await listRecordTypes(api, task), ["created"]);
  // A credential that names another tenant's worker has no power over it.
  const forged = await api.addCredential({
    ...theirs,
    tenantId: api.tenant.id,
  });
  const stolen = await lease(theirs.id, { key: forged });
  assertEquals(stolen.status, 403);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease takes tampered and expired credentials for none", async () => {
  const api = await openLeaseApi();
  const last = api.credential.at(-1) === "a" ? "b" : "a";
  const tampered = api.credential.slice(0, -1) + last;
  const answer = await api.lease({}, { key: tampered });
  assertEquals(answer.at("code"), "invalid_credentials");
  const middle = api.credential.slice(0, 30) +
    (api.credential[30] === "a" ? "b" : "a") + api.credential.slice(31);
  assertEquals((await api.lease({}, { key: middle })).status, 401);
  const expired = await api.addCredential(api.mailer, {
    expiresAtMs: api.clock.nowMs(),
  });
  const late = await api.lease({}, { key: expired });
  assertEquals(late.at("code"), "token_expired");
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives nothing more to who was revoked while it waits", async () => {
  const api = await openLeaseApi();
  const minted = await api.call("POST", "/v1/workers/mailer/secrets");
  const id = minted.textAt("id");
  const waiting = api.lease({ wait: "PT20S", secrets: true }, {
    key: minted.textAt("secret"),
  });
  await api.clock.advanceAsync(1_000);
  const revoked = await api.call(
    "DELETE",
    `/v1/workers/mailer/secrets/${id}`,
  );
  assertEquals(revoked.status, 204, revoked.text);
  const task = await addTask(api, api.mailer);
  const refused = await waiting;
  assertEquals(
    [refused.status, refused.at("code")],
    [401, "invalid_credentials"],
  );
  // The attempt was not started, so others get the task at once.
  assertEquals(await listRecordTypes(api, task), ["created"]);
  assertEquals((await api.take()).taskId, task.id);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives nothing more to who expired while it waits", async () => {
  const api = await openLeaseApi();
  const expiresAtMs = api.clock.nowMs() + 2_000;
  const waiting = [
    await api.addCredential(api.mailer, { expiresAtMs }),
    await api.addKey({ scopes: ["leases:write"], expiresAtMs }),
  ].map((key) => api.lease({ wait: "PT5S" }, { key }));
  await api.clock.advanceAsync(1_999);
  const last = api.lease({ wait: "PT30S" });
  await api.clock.advanceAsync(1);
  // Two expired requests wait before the last one; neither may get the task.
  const task = await addTask(api, api.mailer);
  assertEquals((await last).at("leases", 0, "task", "id"), task.id);
  await api.clock.advanceAsync(3_000);
  for (const answer of await Promise.all(waiting)) {
    assertEquals([answer.status, answer.at("code")], [401, "token_expired"]);
  }
  assertEquals(await listRecordTypes(api, task), ["created", "started"]);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease tells who was revoked also when there was no task", async () => {
  const api = await openLeaseApi();
  const key = await api.addKey({ scopes: ["leases:write"] });
  const waiting = api.lease({ wait: "PT5S" }, { key });
  await api.clock.advanceAsync(1_000);
  const keyId = key.slice(0, key.lastIndexOf("_"));
  const stored = await api.engine.parts.repositories.keys.get(
    api.tenant.id,
    keyId,
  );
  if (stored === undefined) throw new Error(`no key ${keyId}`);
  await api.write(api.engine.parts.repositories.keys.remove(stored));
  await api.clock.advanceAsync(4_000);
  assertEquals((await waiting).status, 401);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease takes key and secret as Basic credentials", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  const minted = await api.call("POST", "/v1/workers/mailer/secrets");
  const pair = btoa(`${minted.textAt("key")}:${minted.textAt("secret")}`);
  const answer = await api.lease({}, {
    key: null,
    headers: { authorization: `Basic ${pair}` },
  });
  assertEquals(answer.status, 200);
  assertNotEquals(answer.at("leases", 0), undefined);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease is for members who may lease", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer, { dataJson: '"secret data"' });
  const member = await api.addKey({ role: "member" });
  const refused = await api.lease({}, { key: member });
  assertEquals(refused.status, 403);
  assertEquals(refused.at("scope"), "leases:write");
  const blind = await api.addKey({
    scopes: ["leases:write"],
    payloads: false,
  });
  const unknown = await api.call("POST", "/v1/workers/none/lease", {
    key: blind,
  });
  assertEquals(unknown.status, 404);
  const secrets = await api.lease({ secrets: true }, { key: blind });
  assertEquals(secrets.status, 403);
  const taken = await api.lease({}, { key: blind });
  assertEquals(taken.status, 200);
  assertEquals(taken.text.includes("secret data"), false);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease refuses workers that are called", async () => {
  const api = await openLeaseApi();
  const push = await api.addWorker({
    name: "push",
    kind: "push",
    url: "https://a.example.com/",
  });
  const key = await api.addCredential(push);
  const answer = await api.call("POST", "/v1/workers/push/lease", { key });
  assertEquals(answer.status, 409);
  assertEquals(answer.at("code"), "wrong_state");
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives secrets to who asks and may have them", async () => {
  const api = await openLeaseApi();
  await api.call("POST", "/v1/workers/mailer/secrets", {
    body: { secrets: { A: "value-of-a", B: "value-of-b" } },
  });
  for (let index = 0; index < 4; index++) await addTask(api, api.mailer);
  const with_ = await api.lease({ secrets: true });
  assertEquals(with_.at("leases", 0, "secrets"), {
    A: "value-of-a",
    B: "value-of-b",
  });
  const without = await api.lease({ secrets: false });
  assertEquals(without.at("leases", 0, "secrets"), undefined);
  const blind = await api.call("POST", "/v1/workers/mailer/secrets", {
    body: { type: "credential", secrets: false },
  });
  assertEquals([blind.status, blind.at("secrets")], [201, false]);
  const key = blind.textAt("secret");
  assertEquals((await api.lease({}, { key })).status, 200);
  const denied = await api.lease({ secrets: true }, { key });
  assertEquals(denied.status, 403);
  const member = await api.lease({ secrets: true }, { key: api.ownerKey });
  assertEquals(member.at("leases", 0, "secrets", "A"), "value-of-a");
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease bounds answers by what the secrets take", async () => {
  const api = await openLeaseApi();
  const value = "v".repeat(16_384);
  await api.call("POST", "/v1/workers/mailer/secrets", {
    body: {
      secrets: Object.fromEntries(
        Array.from({ length: 100 }, (_, index) => [`N${index}`, value]),
      ),
    },
  });
  for (let index = 0; index < 10; index++) await addTask(api, api.mailer);
  const answer = await api.lease({ max: 10, secrets: true });
  assertEquals((answer.at("leases") as unknown[]).length, 2);
  const plain = await api.lease({ max: 10 });
  assertEquals((plain.at("leases") as unknown[]).length, 8);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease has no secrets without a master key", async () => {
  const api = await openLeaseApi({ hasMasterKey: false });
  await addTask(api, api.mailer);
  const answer = await api.lease({ secrets: true });
  assertEquals(answer.status, 503);
  assertEquals(answer.at("code"), "secrets_unavailable");
  assertNotEquals((await api.lease()).at("leases", 0), undefined);
  await api.close();
});

Deno.test("POST /v1/workers/:id/lease gives tasks back at once when the secrets cannot be opened", async () => {
  const api = await openLeaseApi();
  const { tenant, parts: { vault, engine } } = api;
  await api.call("POST", "/v1/workers/mailer/secrets", {
    body: { name: "A", value: "value-of-a" },
  });
  const waiting = api.lease({ wait: "PT20S", secrets: true });
  await api.clock.advanceAsync(1_000);
  const { dataKeys } = engine.parts.repositories;
  const key = await dataKeys.get(tenant.id, "data");
  assert(key !== undefined);
  await api.write(dataKeys.remove(key));
  vault.forget(tenant.id);
  const { id } = await addTask(api, api.mailer);
  const refused = await waiting;
  assertEquals(
    [refused.status, refused.at("code")],
    [503, "secrets_unavailable"],
  );
  const task = await api.store.task(tenant.id, id);
  assertEquals([task?.status, task?.executions, task?.lost], ["waiting", 0, 0]);
  const others = await api.lease();
  assertEquals(others.at("leases", 0, "task", "id"), id);
  assertEquals(others.at("leases", 0, "attempt"), 1);
  await api.close();
});
