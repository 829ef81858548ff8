import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  addTask,
  listRecords,
  listRecordTypes,
} from "../workers/testing/add_task.ts";
import { LogBudget } from "./held_leases.ts";
import type { TestAnswer } from "../testing/test_caller.ts";
import {
  type LeaseApi,
  openLeaseApi,
  type TakenLease,
} from "./testing/lease_api.ts";
import { leaseHolder } from "../../engine/leases.ts";
import { StoreBusyError } from "../../store/store.ts";

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
  assertEquals(await listRecordTypes(api, task), [
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
    httpStatus: undefined,
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
  const records = await listRecords(api, task);
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
  const record = (await listRecords(api, task)).at(-1);
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
  assertEquals((await listRecordTypes(api, task)).length, 3);
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
  // A text with line ends counts as several lines.
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
  // A budget after a restart counts the lines in the history.
  const toHolder = ({ id: leaseId, token }: TakenLease) =>
    leaseHolder({ tenantId: api.tenant.id, leaseId, token });
  const other = new LogBudget(api.store);
  const tally = await other.tally(toHolder(lease));
  assertEquals([tally.lines, tally.reserve(1)], [1_000, false]);
  assertEquals((await api.say(lease, "release")).status, 200);
  const next = await api.take();
  assertEquals((await api.say(next, "log", { lines: ["x"] })).status, 200);
  assertEquals((await other.tally(toHolder(next))).lines, 1);
  assertEquals(
    (await listRecords(api, task)).filter(({ type }) => type === "log").length,
    11,
  );
  await api.close();
});

Deno.test("POST /v1/leases/:id/log counts no lines that the store had no room for", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  const lease = await api.take();
  const commit = api.store.commit.bind(api.store);
  api.store.commit = () => Promise.reject(new StoreBusyError(50));
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
  const inBatch = { ...lease, taskId: undefined, action: "log", lines };
  for (let call = 0; call < 6; call++) {
    const alone = await api.say(lease, "log", { lines });
    assertEquals([alone.status, alone.at("code")], [503, "overloaded"]);
    const many = await api.call("POST", "/v1/leases/batch", {
      key: api.credential,
      body: { leases: [inBatch] },
    });
    assertEquals([many.status, many.at("code")], [503, "overloaded"]);
  }
  api.store.commit = commit;
  for (let call = 0; call < 10; call++) {
    assertEquals((await api.say(lease, "log", { lines })).status, 200);
  }
  const late = await api.say(lease, "log", { lines: ["x"] });
  assertEquals([late.status, late.at("used")], [403, 1_000]);
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

Deno.test("POST /v1/leases/batch answers each word in its place, in one commit", async () => {
  const api = await openLeaseApi();
  const tasks = [];
  for (let index = 0; index < 6; index++) {
    tasks.push(await addTask(api, api.mailer));
  }
  const leases = [];
  for (let index = 0; index < 5; index++) leases.push(await api.take());
  const [a, b, c, d, e] = leases;
  const { store } = api;
  const commit = store.commit.bind(store);
  let commits = 0;
  store.commit = (transactions) => {
    commits++;
    return commit(transactions);
  };
  const answer = await batch(api, [
    { ...held(a), action: "complete", result: 1 },
    { ...held(b), action: "fail", error: "no", retry: false },
    { ...held(c), action: "heartbeat", progress: 5 },
    { ...held(d), action: "release" },
    { ...held(e), action: "log", lines: ["hello"] },
    { ...held(a), token: "lt_wrong", action: "complete" },
    { id: "nothing", token: "x", action: "complete" },
    { ...held(b), action: "finish" },
    { ...held(b), action: "log", lines: [] },
    "word",
  ]);
  assertEquals(answer.status, 200, answer.text);
  const results = answer.at("results") as { status: number }[];
  assertEquals(
    results.map(({ status }) => status),
    [200, 200, 200, 200, 200, 409, 404, 422, 422, 422],
  );
  assertEquals(commits, 1);
  assertEquals(
    results.slice(0, 5).map((_, index) =>
      answer.at("results", index, "lease", "status")
    ),
    ["complete", "failed", "running", "waiting", "running"],
  );
  assertEquals(answer.at("results", 5, "problem", "code"), "lease_gone");
  assertEquals(answer.at("results", 6, "problem", "code"), "not_found");
  assertEquals(
    answer.at("results", 8, "problem", "errors", 0, "pointer"),
    "/leases/8/lines",
  );
  assertEquals(
    answer.at("results", 9, "problem", "errors", 0, "pointer"),
    "/leases/9",
  );
  await api.close();
});

Deno.test("POST /v1/leases/batch hears words about one lease in their order", async () => {
  const api = await openLeaseApi();
  const task = await addTask(api, api.mailer);
  const lease = held(await api.take());
  const answer = await batch(api, [
    { ...lease, action: "log", lines: ["almost"] },
    { ...lease, action: "complete", result: "done" },
    { ...lease, action: "complete", result: "done" },
    { ...lease, action: "release" },
  ]);
  const results = answer.at("results") as { status: number }[];
  assertEquals(results.map(({ status }) => status), [200, 200, 200, 409]);
  assertEquals(answer.at("results", 2, "lease", "repeated"), true);
  assertEquals(await listRecordTypes(api, task), [
    "created",
    "started",
    "log",
    "succeeded",
    "completed",
  ]);
  await api.close();
});

Deno.test("POST /v1/leases/batch lets a credential speak for its own worker alone", async () => {
  const api = await openLeaseApi();
  const other = await api.addWorker({ name: "other" });
  const task = await addTask(api, other);
  const [grant] = await api.engine.leases.lease({
    tenantId: api.tenant.id,
    workerId: other.id,
    max: 1,
    waitMs: 1_000,
  });
  const word = {
    id: grant?.task.attempt?.id,
    token: grant?.token,
    action: "complete",
  };
  const refused = await batch(api, [word]);
  assertEquals(refused.at("results", 0, "status"), 409);
  assertEquals(await listRecordTypes(api, task), ["created", "started"]);
  const own = await batch(api, [word], await api.addCredential(other));
  assertEquals(own.at("results", 0, "status"), 200);
  await api.close();
});

Deno.test("POST /v1/leases/batch is for workers and who may lease", async () => {
  const api = await openLeaseApi();
  await addTask(api, api.mailer);
  const word = { ...held(await api.take()), action: "complete" };
  const member = await api.addKey({ role: "member" });
  assertEquals((await batch(api, [word], member)).status, 403);
  assertEquals((await batch(api, [word], null)).status, 401);
  const leaser = await api.addKey({ scopes: ["leases:write"] });
  const answer = await batch(api, [word], leaser);
  assertEquals(answer.at("results", 0, "status"), 200);
  await api.close();
});

Deno.test("POST /v1/leases/batch bounds how much is said at once", async () => {
  const api = await openLeaseApi();
  const word = { id: "lse_x", token: "t", action: "complete" };
  const none = await batch(api, []);
  assertEquals(none.status, 422);
  const most = await batch(api, Array.from({ length: 1_000 }, () => word));
  assertEquals(most.status, 200);
  const over = await batch(api, Array.from({ length: 1_001 }, () => word));
  assertEquals(over.status, 422);
  const long = await batch(api, [{
    ...word,
    result: "x".repeat(4 * 1_048_576),
  }]);
  assertEquals(long.status, 413);
  await api.close();
});

Deno.test("POST /v1/leases/batch keeps no secret, whichever worker it is of", async () => {
  const api = await openLeaseApi();
  const other = await api.addWorker({ name: "other" });
  const secrets: Readonly<Record<string, string>> = {
    mailer: "mailer-secret",
    other: "others-secret",
  };
  const words = [];
  const tasks = [];
  for (const worker of [api.mailer, other]) {
    await api.call("POST", `/v1/workers/${worker.name}/secrets`, {
      body: { name: "S", value: secrets[worker.name] },
    });
    tasks.push(await addTask(api, worker));
    const taken = await api.call("POST", `/v1/workers/${worker.name}/lease`);
    words.push({
      id: taken.textAt("leases", 0, "id"),
      token: taken.textAt("leases", 0, "token"),
      action: "complete",
      result: `used ${secrets[worker.name]}`,
    });
  }
  const answer = await batch(api, words, api.ownerKey);
  assertEquals(answer.at("results", 1, "status"), 200);
  for (const task of tasks) {
    const stored = await api.store.task(api.tenant.id, task.id);
    assertEquals(stored?.resultJson, '"used [secret S]"');
    const text = JSON.stringify(await listRecords(api, task));
    assertEquals(text.includes("-secret"), false);
  }
  await api.close();
});

function batch(
  api: LeaseApi,
  leases: readonly unknown[],
  key: string | null = api.credential,
): Promise<TestAnswer> {
  return api.call("POST", "/v1/leases/batch", { body: { leases }, key });
}

function held(
  lease: { readonly id: string; readonly token: string } | undefined,
): { readonly id: string; readonly token: string } {
  return { id: lease?.id ?? "", token: lease?.token ?? "" };
}
