import { assertEquals } from "@std/assert";
import { addTask, historyOf, recordsOf } from "../workers/testing/add_task.ts";
import type { TestAnswer } from "../testing/test_caller.ts";
import { type LeaseApi, openLeaseApi } from "./testing/lease_api.ts";

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
  assertEquals(await historyOf(api, task), [
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
  assertEquals(await historyOf(api, task), ["created", "started"]);
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
    const text = JSON.stringify(await recordsOf(api, task));
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
