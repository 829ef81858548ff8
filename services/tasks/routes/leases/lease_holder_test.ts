import { assertEquals, assertStringIncludes } from "@std/assert";
import type { TaskEvent } from "../../domain/task_event.ts";
import { sha256 } from "../../store/digest.ts";
import { SERVICE_HOST } from "../testing/test_api.ts";
import { removeTask } from "../../engine/owner_actions.ts";
import {
  addTask,
  listRecords,
  listRecordTypes,
} from "../workers/testing/add_task.ts";
import { openLeaseApi } from "./testing/lease_api.ts";

const OUTCOMES = ["complete", "fail", "release"];

Deno.test("the routes of a lease need its token", async (t) => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const last = lease.token.endsWith("A") ? "B" : "A";
  const cases: [string, string | null, number, string][] = [
    ["no token", null, 401, "missing_credentials"],
    ["another token", "lt_other", 409, "lease_gone"],
    ["a tampered token", lease.token.slice(0, -1) + last, 409, "lease_gone"],
    ["the worker's credential", api.credential, 409, "lease_gone"],
    ["the owner's key", api.ownerKey, 409, "lease_gone"],
  ];
  for (const action of ["heartbeat", "complete", "fail", "release", "log"]) {
    for (const [what, key, status, code] of cases) {
      await t.step(`${action} with ${what}`, async () => {
        const answer = await api.call(
          "POST",
          `/v1/leases/${lease.id}/${action}`,
          { key, body: action === "log" ? { lines: ["x"] } : {} },
        );
        assertEquals(answer.status, status);
        assertEquals(answer.at("code"), code);
      });
    }
  }
  const basic = await api.call("POST", `/v1/leases/${lease.id}/complete`, {
    key: null,
    headers: { authorization: `Basic ${btoa(`x:${lease.token}`)}` },
  });
  assertEquals(basic.status, 401);
  assertEquals(await listRecordTypes(api, task), ["created", "started"]);
  await api.close();
});

Deno.test("the routes of a lease know no others than the tenant's", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const ids = [
    "lse_",
    "nothing",
    `${lease.id}0000000000000000000`,
    task.id,
  ];
  for (const id of ids) {
    const answer = await api.say({ ...lease, id }, "complete");
    assertEquals(answer.status, 404, id);
  }
  await api.addTenant("globex");
  const elsewhere = await api.call("POST", `/v1/leases/${lease.id}/complete`, {
    key: lease.token,
    host: `globex.${SERVICE_HOST}`,
  });
  const never = `lse_${"0".repeat(26)}_1`;
  const madeUp = await api.say({ ...lease, id: never }, "complete");
  // Both answers are the same: in this tenant, neither lease exists.
  for (const answer of [elsewhere, madeUp]) {
    assertEquals([answer.status, answer.at("code")], [409, "lease_gone"]);
  }
  assertEquals(elsewhere.at("detail"), madeUp.at("detail"));
  // The next attempt's id with this attempt's token is not a valid lease.
  const next = lease.id.replace(/_1$/, "_2");
  assertEquals((await api.say({ ...lease, id: next }, "complete")).status, 409);
  assertEquals(await listRecordTypes(api, task), ["created", "started"]);
  await api.close();
});

Deno.test("the routes of a lease tell that a removed task is gone, as of a canceled one", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const isRemoved = await removeTask(api.engine, {
    task: await api.store.task(task.tenantId, task.id) ?? task,
    actor: { type: "user", id: "usr_1" },
  });
  assertEquals(isRemoved, true);
  for (const action of [...OUTCOMES, "heartbeat", "log"]) {
    const answer = await api.say(
      lease,
      action,
      action === "log" ? { lines: ["x"] } : {},
    );
    assertEquals(
      [answer.status, answer.at("code"), answer.at("canceled")],
      [409, "lease_gone", true],
      action,
    );
  }
  const inBatch = await api.call("POST", "/v1/leases/batch", {
    key: api.credential,
    body: {
      leases: [{ id: lease.id, token: lease.token, action: "heartbeat" }],
    },
  });
  assertEquals(inBatch.at("results", 0, "status"), 409);
  assertEquals(inBatch.at("results", 0, "problem", "canceled"), true);
  await api.close();
});

Deno.test("the routes of a lease read no long body of who does not hold it", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  // A route that read this body would find that it is not JSON.
  const long = "x".repeat(100_000);
  const complete = (
    id: string,
    key: string | null,
    body = long,
  ): ReturnType<typeof api.call> =>
    api.call("POST", `/v1/leases/${id}/complete`, { key, body });
  const { id, token } = lease;
  assertEquals((await complete(id, null)).status, 401);
  assertEquals((await complete("nothing", token)).status, 404);
  assertEquals((await complete(`lse_${"0".repeat(26)}_1`, token)).status, 409);
  const stranger = await complete(id, "lt_guess");
  assertEquals([stranger.status, stranger.at("code")], [409, "lease_gone"]);
  assertEquals(stranger.at("canceled"), false);
  assertEquals((await complete(id, token)).at("code"), "malformed_json");
  const short = await complete(id, "lt_guess", "x");
  assertEquals(short.at("code"), "malformed_json");
  assertEquals(await listRecordTypes(api, task), ["created", "started"]);
  await api.close();
});

Deno.test("the routes of a lease read a long body of who holds it, also when another process gave it", async () => {
  const api = await openLeaseApi();
  const result = JSON.stringify({ result: "x".repeat(100_000) });
  const complete = async (
    id: string,
    token: string,
  ): Promise<readonly unknown[]> => {
    const answer = await api.call("POST", `/v1/leases/${id}/complete`, {
      key: token,
      body: result,
    });
    return [answer.status, answer.at("repeated")];
  };
  // Tasks with so much data are not cached, so the task is read.
  await addTask(api, api.mailer, { dataJson: `"${"x".repeat(10_000)}"` });
  const { id, token } = await api.take();
  assertEquals(await complete(id, token), [200, false]);
  assertEquals(await complete(id, token), [200, true]);
  await api.close();
});

Deno.test("the routes of a lease read a task once for the word of its holder", async () => {
  const api = await openLeaseApi({ limits: { requestsPerSecond: 100 } });
  await addTask(api, api.mailer);
  const lease = await api.take();
  const { store } = api;
  const read: string[] = [];
  const { task, tasks } = store;
  store.task = (...args) => {
    read.push("task");
    return task.apply(store, args);
  };
  store.tasks = (...args) => {
    read.push("tasks");
    return tasks.apply(store, args);
  };
  const told = await api.say(lease, "heartbeat", { progress: 1 });
  assertEquals([told.status, read], [200, []]);
  await api.close();
});

Deno.test("the routes of a lease serve who was called and took the task", async () => {
  const api = await openLeaseApi();
  const push = await api.addWorker({
    name: "push",
    kind: "push",
    url: "https://a.example.com/",
  });
  const task = await addTask(api, push);
  const token = "lt_given-with-the-call";
  const lease = { id: `lse_${task.id.slice(4)}_1`, token, taskId: task.id };
  const apply = (event: TaskEvent): Promise<unknown> =>
    api.engine.changes.apply({
      tenantId: task.tenantId,
      id: task.id,
      event,
      actor: { type: "system", id: "system" },
    });
  await apply({
    kind: "start",
    tokenHash: sha256(token),
    bootId: api.engine.parts.instances.id,
    leaseMs: 30_000,
  });
  await apply({ kind: "accept", lease: { id: lease.id }, leaseMs: 20_000 });
  const alive = await api.say(lease, "heartbeat");
  assertEquals(
    alive.at("expires_at"),
    new Date(api.clock.nowMs() + 20_000).toISOString(),
  );
  assertEquals(
    (await api.say({ ...lease, token: "" }, "complete")).status,
    401,
  );
  assertEquals((await api.say(lease, "complete")).at("status"), "complete");
  await api.close();
});

Deno.test("the routes of a lease refuse a holder whose lease has ended", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  await api.engine.start();
  const first = await api.take();
  await api.clock.advanceAsync(32_000);
  const second = await api.take();
  assertEquals(second.taskId, first.taskId);
  for (const action of [...OUTCOMES, "heartbeat"]) {
    const late = await api.say(first, action, {});
    assertEquals(late.status, 409, action);
    assertEquals(late.at("code"), "lease_gone");
  }
  assertEquals((await api.say(second, "complete")).status, 200);
  await api.close();
});

Deno.test("the routes of a lease keep no secret of its worker", async () => {
  const api = await openLeaseApi();
  const secret = "hunter2-hunter2";
  const key = "-----BEGIN KEY-----\nabcdefgh\n-----END KEY-----";
  await api.call("POST", "/v1/workers/mailer/secrets", {
    body: { secrets: { PASS: secret, KEY: key } },
  });
  const task = await addTask(api, api.mailer, {
    retry: { limit: 5, interval: "PT1S" },
  });
  await api.engine.start();
  const lease = await api.take();
  await api.say(lease, "heartbeat", { progress: { using: secret } });
  await api.say(lease, "log", {
    lines: [`login ${secret}`, ...key.split("\n"), "done"],
  });
  await api.say(lease, "fail", {
    error: {
      code: secret,
      message: `${"x".repeat(1_995)}${secret}`,
      detail: { url: `https://a/?p=${secret}`, [secret]: 1 },
    },
  });
  await api.clock.advanceAsync(2_000);
  await api.say(await api.take(), "release", { reason: `because ${secret}` });
  const last = await api.take();
  await api.say(last, "complete", { result: [secret, btoa(secret)] });
  const stored = await api.store.task(api.tenant.id, task.id);
  const records = await listRecords(api, task);
  const all = JSON.stringify([stored, records]);
  assertEquals(all.includes(secret), false);
  assertEquals(all.includes(btoa(secret)), false);
  assertEquals(all.includes("hunter2"), false);
  assertEquals(all.includes("abcdefgh"), false);
  assertEquals(
    JSON.parse(stored?.resultJson ?? "0"),
    ["[secret PASS]", "[secret PASS]"],
  );
  assertStringIncludes(
    String(records.find(({ type }) => type === "log")?.message),
    "login [secret PASS]\n[secret KEY]\ndone",
  );
  await api.close();
});

Deno.test("the routes of a lease find a worker's secrets also when another process gave the lease", async () => {
  const api = await openLeaseApi();
  const secret = "hunter2-hunter2";
  await api.call("POST", "/v1/workers/mailer/secrets", {
    body: { name: "PASS", value: secret },
  });
  const task = await addTask(api, api.mailer);
  const [grant] = await api.engine.leases.lease({
    tenantId: api.tenant.id,
    workerId: api.mailer.id,
    max: 1,
    waitMs: 1_000,
  });
  const { id = "" } = grant?.task.attempt ?? {};
  const answer = await api.call("POST", `/v1/leases/${id}/complete`, {
    key: grant?.token ?? "",
    body: { result: secret },
  });
  assertEquals(answer.status, 200);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.resultJson, '"[secret PASS]"');
  await api.close();
});
