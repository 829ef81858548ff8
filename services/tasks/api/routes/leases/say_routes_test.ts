import { assertEquals, assertStringIncludes } from "@std/assert";
import type { TaskEvent } from "../../../domain/task_event.ts";
import { sha256 } from "../../../engine/digest.ts";
import { SERVICE_HOST } from "../../testing/test_api.ts";
import { removeTask } from "../tasks/task_removal.ts";
import { addTask, historyOf, recordsOf } from "../workers/testing/add_task.ts";
import { LogBudget } from "./log_budget.ts";
import { openLeaseApi } from "./testing/lease_api.ts";

const OUTCOMES = ["complete", "fail", "release"];

Deno.test("POST /v1/leases/:id/complete ends the task with its result", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const answer = await api.say(lease, "complete", { result: { sent: 3 } });
  assertEquals(answer.status, 200);
  assertEquals(answer.json, {
    id: lease.id,
    task: task.id,
    status: "complete",
    date: null,
    expires_at: null,
    canceled: false,
    repeated: false,
  });
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.resultJson, '{"sent":3}');
  assertEquals(await historyOf(api, task), [
    "created",
    "started",
    "succeeded",
    "completed",
  ]);
  await api.close();
});

Deno.test("POST /v1/leases/:id/complete takes no body for no result", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  assertEquals((await api.say(await api.take(), "complete")).status, 200);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.resultJson, undefined);
  await api.close();
});

Deno.test("POST /v1/leases/:id/complete keeps the beginning of a long result", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const result = "é".repeat(100_000);
  const answer = await api.say(await api.take(), "complete", { result });
  assertEquals(answer.status, 200);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.isResultTruncated, true);
  assertEquals((stored?.resultJson?.length ?? 0) <= 65_536, true);
  await api.close();
});

Deno.test("POST /v1/leases/:id/complete takes a long result on a plan with short payloads", async () => {
  const api = await openLeaseApi({ limits: { payloadBytes: 1_024 } });
  const task = await addTask(api, api.mailer, {
    retry: { limit: 1, interval: "PT0S" },
  });
  const long = "x".repeat(3_000_000);
  const failed = await api.say(await api.take(), "fail", {
    error: { message: "no", detail: long },
  });
  assertEquals(failed.status, 200, failed.text);
  await api.engine.start();
  await api.clock.advanceAsync(1_000);
  const lease = await api.take();
  const beyond = await api.say(lease, "complete", {
    result: "x".repeat(4 * 1_048_576),
  });
  assertEquals([beyond.status, beyond.at("limit")], [413, 4_194_304]);
  assertStringIncludes(
    beyond.textAt("detail"),
    "say it again without the result",
  );
  const kept = await api.say(lease, "complete", { result: long });
  assertEquals(kept.status, 200, kept.text);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals([stored?.status, stored?.isResultTruncated], ["complete", true]);
  await api.close();
});

Deno.test("the routes of a lease say the same outcome twice, and no other", async (t) => {
  for (const first of OUTCOMES) {
    for (const second of OUTCOMES) {
      await t.step(`${first}, then ${second}`, async () => {
        const api = await openLeaseApi();
        await addTask(api, api.mailer);
        const lease = await api.take();
        const body = { error: "no" };
        await api.say(lease, first, first === "fail" ? body : {});
        const answer = await api.say(
          lease,
          second,
          second === "fail" ? body : {},
        );
        if (first === second) {
          assertEquals(answer.status, 200);
          assertEquals(answer.at("repeated"), true);
        } else {
          assertEquals(answer.status, 409);
          assertEquals(answer.at("code"), "lease_gone");
          assertEquals(answer.at("canceled"), false);
        }
        await api.close();
      });
    }
  }
});

Deno.test("POST /v1/leases/:id/fail leaves it to the policy what follows", async () => {
  const api = await openLeaseApi();
  const retry = { limit: 1, interval: "PT10S" };
  const task = await addTask(api, api.mailer, { retry });
  await api.engine.start();
  const failed = await api.say(await api.take(), "fail", {
    error: { code: "mailbox_full", message: "full", detail: { at: 1 } },
    retry_after: "PT1M",
  });
  assertEquals(failed.at("status"), "retry");
  assertEquals(
    failed.at("date"),
    new Date(api.clock.nowMs() + 60_000).toISOString(),
  );
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.error, {
    code: "mailbox_full",
    message: "full",
    detailJson: '{"at":1}',
    atMs: api.clock.nowMs(),
  });
  await api.clock.advanceAsync(61_000);
  const last = await api.say(await api.take(), "fail", { error: "again" });
  assertEquals(last.at("status"), "failed");
  assertEquals(last.at("date"), null);
  await api.close();
});

Deno.test("POST /v1/leases/:id/fail ends the task when another try is useless", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  const answer = await api.say(await api.take(), "fail", { retry: false });
  assertEquals(answer.at("status"), "failed");
  await addTask(api, api.mailer);
  const empty = await api.say(await api.take(), "fail");
  assertEquals(empty.at("status"), "retry");
  await api.close();
});

Deno.test("POST /v1/leases/:id/fail cuts what is long instead of refusing it", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const answer = await api.say(await api.take(), "fail", {
    error: {
      message: `\ud83d${"m".repeat(60_000)}`,
      detail: { stack: "s".repeat(20_000) },
    },
  });
  assertEquals(answer.status, 200);
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.error?.message.length, 2_000);
  assertEquals(stored?.error?.message.isWellFormed(), true);
  const detail = JSON.parse(stored?.error?.detailJson ?? "0");
  assertEquals(detail.length, 8_192);
  await api.close();
});

Deno.test("POST /v1/leases/:id/fail refuses what says nothing", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  const lease = await api.take();
  const cases: [unknown, string][] = [
    [{ error: 5 }, "/error"],
    [{ error: {} }, "/error/message"],
    [{ error: { message: "m", code: "a b" } }, "/error/code"],
    [{ error: { message: "m", codes: "a" } }, "/error/codes"],
    [{ retry: "no" }, "/retry"],
    [{ retry_after: "soon" }, "/retry_after"],
  ];
  for (const [body, pointer] of cases) {
    const answer = await api.say(lease, "fail", body);
    assertEquals(answer.status, 422, answer.text);
    assertEquals(answer.at("errors", 0, "pointer"), pointer);
  }
  assertEquals((await api.say(lease, "complete")).status, 200);
  await api.close();
});

Deno.test("POST /v1/leases/:id/release gives the task back, without a try spent", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const answer = await api.say(await api.take(), "release", {
    reason: "shutting down",
  });
  assertEquals(answer.at("status"), "waiting");
  const again = await api.take();
  assertEquals(again.taskId, task.id);
  const later = await api.say(again, "release", { delay: "PT1M" });
  assertEquals(later.at("status"), "scheduled");
  assertEquals(
    later.at("date"),
    new Date(api.clock.nowMs() + 60_000).toISOString(),
  );
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.retries, 0);
  const records = await recordsOf(api, task);
  assertEquals(
    records.find(({ type }) => type === "released")?.message,
    "shutting down",
  );
  await api.close();
});

Deno.test("POST /v1/leases/:id/heartbeat extends the lease and keeps progress", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  api.clock.advance(10_000);
  const own = await api.say(lease, "heartbeat");
  assertEquals(own.status, 200);
  assertEquals(
    own.at("expires_at"),
    new Date(api.clock.nowMs() + 30_000).toISOString(),
  );
  assertEquals(own.at("canceled"), false);
  assertEquals(own.at("status"), "running");
  const more = await api.say(lease, "heartbeat", {
    extend: "PT10S",
    progress: { done: 4 },
  });
  assertEquals(
    more.at("expires_at"),
    new Date(api.clock.nowMs() + 10_000).toISOString(),
  );
  // The attempt may take a minute in all.
  const most = await api.say(lease, "heartbeat", { extend: "PT5M" });
  assertEquals(
    most.at("expires_at"),
    new Date(api.clock.nowMs() + 50_000).toISOString(),
  );
  const stored = await api.store.task(api.tenant.id, task.id);
  assertEquals(stored?.attempt?.progressJson, '{"done":4}');
  const long = await api.say(lease, "heartbeat", {
    progress: "p".repeat(5_000),
  });
  assertEquals(long.status, 422);
  await api.close();
});

Deno.test("POST /v1/leases/:id/heartbeat tells of a canceled task, to its holder only", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  await api.engine.changes.apply({
    tenantId: api.tenant.id,
    id: task.id,
    event: { kind: "cancel" },
    actor: { type: "user", id: "usr_1" },
  });
  for (let count = 0; count < 2; count++) {
    const told = await api.say(lease, "heartbeat", { progress: 1 });
    assertEquals(told.status, 200);
    assertEquals(told.json, {
      id: lease.id,
      task: task.id,
      status: "canceled",
      date: null,
      expires_at: null,
      canceled: true,
      repeated: false,
    });
  }
  const wrong = await api.say({ ...lease, token: "lt_x" }, "heartbeat");
  assertEquals(wrong.status, 409);
  assertEquals(wrong.at("canceled"), false);
  for (const action of OUTCOMES) {
    const late = await api.say(lease, action, {});
    assertEquals(late.status, 409, action);
    assertEquals(late.at("canceled"), true);
  }
  await api.close();
});

Deno.test("POST /v1/leases/:id/log adds lines to the history", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const answer = await api.say(lease, "log", {
    lines: ["one", "x".repeat(1_500), "two"],
  });
  assertEquals(answer.status, 200);
  assertEquals(answer.at("status"), "running");
  const record = (await recordsOf(api, task)).at(-1);
  assertEquals(record?.type, "log");
  const lines = String(record?.message).split("\n");
  assertEquals(lines.map((line) => line.length), [3, 1_000, 3]);
  const cases: [unknown, string][] = [
    [{}, "/lines"],
    [{ lines: [] }, "/lines"],
    [{ lines: "one" }, "/lines"],
    [{ lines: [1] }, "/lines/0"],
    [{ lines: Array.from({ length: 101 }, () => "x") }, "/lines"],
  ];
  for (const [body, pointer] of cases) {
    const refused = await api.say(lease, "log", body);
    assertEquals(refused.status, 422);
    assertEquals(refused.at("errors", 0, "pointer"), pointer);
  }
  assertEquals((await historyOf(api, task)).length, 3);
  await api.close();
});

Deno.test("POST /v1/leases/:id/log takes no more lines than an attempt may have", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
  for (let call = 0; call < 9; call++) {
    assertEquals((await api.say(lease, "log", { lines })).status, 200);
  }
  const guess = { ...lease, token: "lt_guess" };
  assertEquals((await api.say(guess, "log", { lines })).status, 409);
  // Lines with line ends are as many as they show.
  const many = await api.say(lease, "log", { lines: ["x\n".repeat(100)] });
  assertEquals([many.status, many.at("code")], [403, "quota_exceeded"]);
  assertEquals([many.at("limit"), many.at("used")], [1_000, 900]);
  assertEquals((await api.say(lease, "log", { lines })).status, 200);
  const late = await api.say(lease, "log", { lines: ["x"] });
  assertEquals([late.status, late.at("used")], [403, 1_000]);
  const inBatch = await api.call("POST", "/v1/leases/batch", {
    key: api.credential,
    body: {
      leases: [
        { id: lease.id, token: lease.token, action: "log", lines: ["x"] },
        { id: lease.id, token: lease.token, action: "heartbeat" },
      ],
    },
  });
  assertEquals(inBatch.at("results", 0, "status"), 403);
  assertEquals(inBatch.at("results", 1, "status"), 200);
  // A process that begins anew knows it from the history.
  const other = new LogBudget(api.store);
  const tally = await other.tally(api.tenant.id, lease.id);
  assertEquals([tally.lines, tally.take(1)], [1_000, false]);
  assertEquals((await api.say(lease, "release")).status, 200);
  const next = await api.take();
  assertEquals((await api.say(next, "log", { lines: ["x"] })).status, 200);
  assertEquals((await other.tally(api.tenant.id, next.id)).lines, 1);
  assertEquals(
    (await recordsOf(api, task)).filter(({ type }) => type === "log").length,
    11,
  );
  await api.close();
});

Deno.test("POST /v1/leases/batch takes no more log lines of an attempt than alone", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  const { id, token } = await api.take();
  const lines = Array.from({ length: 100 }, () => "x");
  const word = { id, token, action: "log", lines };
  const answer = await api.call("POST", "/v1/leases/batch", {
    key: api.credential,
    body: { leases: Array.from({ length: 12 }, () => word) },
  });
  const statuses = Array.from(
    { length: 12 },
    (_, n) => answer.at("results", n, "status"),
  );
  assertEquals(statuses.slice(0, 10), new Array(10).fill(200));
  assertEquals(statuses.slice(10), [403, 403]);
  await api.close();
});

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
  assertEquals(await historyOf(api, task), ["created", "started"]);
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
  // Nothing tells them apart: neither is there, as far as the tenant goes.
  for (const answer of [elsewhere, madeUp]) {
    assertEquals([answer.status, answer.at("code")], [409, "lease_gone"]);
  }
  assertEquals(elsewhere.at("detail"), madeUp.at("detail"));
  // The next attempt's id with the token of this one is not that lease.
  const next = lease.id.replace(/_1$/, "_2");
  assertEquals((await api.say({ ...lease, id: next }, "complete")).status, 409);
  assertEquals(await historyOf(api, task), ["created", "started"]);
  await api.close();
});

Deno.test("the routes of a lease tell that a removed task is gone, as of a canceled one", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = await api.take();
  const isRemoved = await removeTask(api.engine, {
    task: await api.store.task(task.tenantId, task.id) ?? task,
    actor: { type: "user", id: "usr_1" },
    nowMs: api.clock.nowMs(),
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
  // Whoever reads it finds that it is no JSON.
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
  assertEquals(await historyOf(api, task), ["created", "started"]);
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
  // Tasks with that much data are not kept in memory, so this one is read.
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
    bootId: api.engine.parts.bootId,
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
  const records = await recordsOf(api, task);
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
