import { assertEquals } from "@std/assert";
import { StoreFailedError } from "../../../shared/store_failed.ts";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks/batch makes tasks in one commit and answers in order", async () => {
  const api = await openTasksApi();
  const commits = countCommits(api);
  const answer = await send(api, [{ data: 1 }, { data: 2 }, { data: 3 }]);
  assertEquals(answer.status, 200);
  for (const index of [0, 1, 2]) {
    assertEquals(answer.at("results", index, "status"), 201);
    const id = String(answer.at("results", index, "task", "id"));
    const read = await api.call("GET", `/v1/tasks/${id}`);
    assertEquals(read.at("data"), index + 1);
    assertEquals(read.at("version"), 1);
  }
  assertEquals(commits(), 1);
  await api.close();
});

Deno.test("POST /v1/tasks/batch makes the good ones and tells what is wrong with others", async () => {
  const api = await openTasksApi({ limits: { payloadBytes: 10 } });
  const answer = await send(api, [
    {},
    { worker: "nobody" },
    { repeat: { cron: "x" } },
    { data: "much too long" },
    "no object",
    { delay: "5s", retires: 1 },
    {},
  ]);
  assertEquals(answer.status, 200);
  assertEquals(listStatuses(answer), [201, 422, 422, 413, 422, 422, 201]);
  assertEquals(answer.at("results", 1, "problem", "code"), "unknown_worker");
  assertEquals(answer.at("results", 2, "problem", "errors", 0), {
    pointer: "/tasks/2/repeat/cron",
    code: "bad_cron",
    detail: answer.at("results", 2, "problem", "detail"),
  });
  assertEquals(
    answer.at("results", 5, "problem", "errors", 0, "pointer"),
    "/tasks/5/retires",
  );
  assertEquals(await count(api), 2);
  await api.close();
});

Deno.test("POST /v1/tasks/batch makes all or nothing when it is atomic", async () => {
  const api = await openTasksApi();
  const refused = await send(api, [{}, { date: "x" }, { worker: "nobody" }], {
    atomic: true,
  });
  assertEquals(refused.status, 422);
  assertEquals(listFaults(refused), [
    ["/tasks/1/date", "bad_time"],
    ["/tasks/2/worker", "unknown_worker"],
  ]);
  assertEquals(await count(api), 0);
  const made = await send(api, [{}, {}], { atomic: true });
  assertEquals(listStatuses(made), [201, 201]);
  await api.create({ key: "k" });
  const conflict = await send(api, [{}, { key: "k", on_conflict: "reject" }], {
    atomic: true,
  });
  assertEquals([conflict.status, conflict.at("code")], [409, "key_conflict"]);
  assertEquals(listFaults(conflict), [["/tasks/1", "key_conflict"]]);
  assertEquals(await count(api), 3);
  await api.close();
});

Deno.test("POST /v1/tasks/batch keeps to the plan", async () => {
  const api = await openTasksApi({ limits: { batchSize: 3, activeTasks: 4 } });
  const four = await send(api, [{}, {}, {}, {}]);
  assertEquals(listFaults(four), [["/tasks", "too_many"]]);
  assertEquals(listStatuses(await send(api, [{}, {}, {}])), [201, 201, 201]);
  const more = await send(api, [{}, {}, {}]);
  assertEquals(listStatuses(more), [201, 403, 403]);
  assertEquals(more.at("results", 1, "problem", "code"), "quota_exceeded");
  assertEquals((await send(api, [{}], { atomic: true })).status, 403);
  assertEquals(listFaults(await send(api, [])), [["/tasks", "too_few"]]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch bounds the tasks that others depend on", async () => {
  const api = await openTasksApi();
  const tasks = Array.from({ length: 101 }, (_, task) => ({
    dependencies: Array.from({ length: 100 }, (_, index) => `${task}-${index}`),
  }));
  const answer = await send(api, tasks);
  assertEquals(listFaults(answer), [["/tasks", "too_many"]]);
  await api.close();
});

Deno.test("POST /v1/tasks/batch refuses a task whose worker is removed meanwhile", async () => {
  const api = await openTasksApi();
  const other = await api.addWorker({ name: "other" });
  const { repositories, store } = api.engine.parts;
  // The worker is removed in the store alone, so that the cache still has it.
  await store.record("worker", api.tenant.id, other.id);
  await repositories.workers.get(api.tenant.id, other.id);
  await repositories.workers.byAlias(api.tenant.id, "other");
  await api.store.commit([{ writes: [repositories.workers.remove(other)] }]);
  const answer = await send(api, [{}, { worker: "other" }, {}]);
  assertEquals(listStatuses(answer), [201, 422, 201]);
  assertEquals(answer.at("results", 1, "problem", "code"), "unknown_worker");
  await api.close();
});

Deno.test("POST /v1/tasks/batch gives the first answer again to the same Idempotency-Key", async () => {
  const api = await openTasksApi();
  const call = { headers: { "idempotency-key": "b-1" } };
  const body = { tasks: [{ worker: "mailer" }, { worker: "nobody" }] };
  const first = await api.send("POST", "/v1/tasks/batch", body, call);
  const again = await api.send("POST", "/v1/tasks/batch", body, call);
  assertEquals(again.json, first.json);
  assertEquals(again.headers["idempotency-replayed"], "true");
  assertEquals(await count(api), 1);
  await api.close();
});

Deno.test("POST /v1/tasks/batch names tasks instead of showing them when return=minimal is preferred", async () => {
  const api = await openTasksApi();
  const body = { tasks: [{ worker: "mailer" }, { worker: "nobody" }] };
  const headers = { prefer: "return=minimal", "idempotency-key": "b-2" };
  const answer = await api.send("POST", "/v1/tasks/batch", body, { headers });
  assertEquals(answer.headers["preference-applied"], "return=minimal");
  assertEquals(listStatuses(answer), [201, 422]);
  const id = String(answer.at("results", 0, "id"));
  assertEquals(answer.at("results", 0), { status: 201, id });
  assertEquals((await api.call("GET", `/v1/tasks/${id}`)).at("id"), id);
  assertEquals(answer.at("results", 1, "problem", "code"), "unknown_worker");
  const again = await api.send("POST", "/v1/tasks/batch", body, { headers });
  assertEquals(again.json, answer.json);
  assertEquals(again.headers["preference-applied"], "return=minimal");
  await api.close();
});

Deno.test("POST /v1/tasks/batch writes many tasks in pieces unless they belong together", async () => {
  const api = await openTasksApi();
  const commits = countCommits(api);
  const tasks = Array.from({ length: 120 }, () => ({}));
  const created = tasks.map(() => 201);
  assertEquals(listStatuses(await send(api, tasks)), created);
  assertEquals(commits(), 3);
  assertEquals(listStatuses(await send(api, tasks, { atomic: true })), created);
  assertEquals(commits(), 4);
  const headers = { "idempotency-key": "b-3" };
  const body = { tasks: tasks.map(() => ({ worker: "mailer" })) };
  const kept = await api.send("POST", "/v1/tasks/batch", body, { headers });
  assertEquals(listStatuses(kept), created);
  assertEquals(commits(), 5);
  assertEquals(await count(api), 360);
  await api.close();
});

Deno.test("POST /v1/tasks/batch tells which tasks were written when the store fails meanwhile", async () => {
  const api = await openTasksApi();
  const commits = countCommits(api, (commit) => {
    if (commit === 2) throw new StoreFailedError("Cannot write: disk full");
  });
  const answer = await send(api, Array.from({ length: 120 }, () => ({})));
  assertEquals(answer.status, 200);
  const statuses = listStatuses(answer);
  assertEquals(statuses.slice(0, 50), Array(50).fill(201));
  assertEquals(statuses.slice(50, 100), Array(50).fill(503));
  assertEquals(statuses.slice(100), Array(20).fill(201));
  assertEquals(
    answer.at("results", 50, "problem", "code"),
    "store_unavailable",
  );
  assertEquals(await count(api), 70);
  assertEquals(commits(), 3);
  await api.close();
});

Deno.test("POST /v1/tasks/batch fails as a whole when no task could be written", async () => {
  const api = await openTasksApi();
  countCommits(api, () => {
    throw new StoreFailedError("Cannot write: disk full");
  });
  const answer = await send(api, Array.from({ length: 120 }, () => ({})));
  assertEquals([answer.status, answer.at("code")], [503, "store_unavailable"]);
  assertEquals(await count(api), 0);
  await api.close();
});

Deno.test("POST /v1/tasks/batch tries those again whose key another request took meanwhile", async () => {
  const api = await openTasksApi();
  let other: unknown;
  const commits = countCommits(api, async (commit) => {
    if (commit !== 2) return;
    other = (await api.create({ key: "key-70" })).at("id");
  });
  const tasks = Array.from({ length: 120 }, (_, index) => ({
    key: `key-${index}`,
  }));
  const answer = await send(api, tasks);
  assertEquals(
    listStatuses(answer),
    tasks.map((_, index) => index === 70 ? 200 : 201),
  );
  assertEquals(answer.at("results", 70, "task", "id"), other);
  assertEquals(answer.at("results", 119, "task", "key"), "key-119");
  assertEquals(await count(api), 120);
  // Three pieces, the other task, and the second piece again.
  assertEquals(commits(), 5);
  await api.close();
});

function send(
  api: TasksApi,
  tasks: readonly unknown[],
  more: Readonly<Record<string, unknown>> = {},
) {
  return api.send("POST", "/v1/tasks/batch", {
    tasks: tasks.map((task) =>
      typeof task === "object" ? { worker: "mailer", ...task } : task
    ),
    ...more,
  });
}

function listStatuses(
  answer: { at(...path: (string | number)[]): unknown },
): readonly unknown[] {
  const results = answer.at("results");
  return Array.isArray(results) ? results.map(({ status }) => status) : [];
}

async function count(api: TasksApi): Promise<unknown> {
  return (await api.call("GET", "/v1/tasks?count=true")).at("count");
}

/** Counts the commits of tasks from now on; `before` is called before each. */
function countCommits(
  { store }: TasksApi,
  before: (commit: number) => void | Promise<void> = () => {},
): () => number {
  const commit = store.commit.bind(store);
  let counted = 0;
  store.commit = async (transactions) => {
    const hasTasks = transactions.some(({ writes }) =>
      writes.some(({ kind }) => kind === "task")
    );
    if (hasTasks) await before(++counted);
    return await commit(transactions);
  };
  return () => counted;
}
