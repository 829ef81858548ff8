import {
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { openTasksApi } from "./testing/tasks_api.ts";

Deno.test("POST /v1/tasks returns the live task that has the key", async () => {
  const api = await openTasksApi();
  const first = await api.create({ key: "k", data: 1 });
  const second = await api.create({ key: "k", data: 2 });
  assertEquals([first.status, second.status], [201, 200]);
  assertEquals(second.json, first.json);
  assertEquals(second.headers.location, first.headers.location);
  await api.close();
});

Deno.test("POST /v1/tasks makes a new task with the key of one that has ended", async () => {
  const api = await openTasksApi();
  const first = await api.create({ key: "k" });
  await api.work("complete");
  const second = await api.create({ key: "k" });
  assertEquals(second.status, 201);
  assertNotEquals(second.at("id"), first.at("id"));
  await api.close();
});

Deno.test("POST /v1/tasks keeps keys of different workers apart", async () => {
  const api = await openTasksApi();
  await api.addWorker({ name: "other" });
  await api.create({ key: "k" });
  assertEquals((await api.create({ worker: "other", key: "k" })).status, 201);
  await api.close();
});

Deno.test("POST /v1/tasks refuses a second task with the key when asked to", async () => {
  const api = await openTasksApi();
  await api.create({ key: "k" });
  const second = await api.create({ key: "k", on_conflict: "reject" });
  assertEquals([second.status, second.at("code")], [409, "key_conflict"]);
  await api.close();
});

Deno.test("POST /v1/tasks says when the key may be free, and keeps no such answer", async () => {
  const api = await openTasksApi();
  const waits: readonly (readonly [Record<string, unknown>, string])[] = [
    [{}, "5"],
    [{ delay: "2s" }, "5"],
    [{ delay: "90s" }, "90"],
    [{ delay: "P30D" }, "86400"],
    [{ status: "paused" }, "60"],
  ];
  for (const [index, [fields, wait]] of waits.entries()) {
    const key = `k${index}`;
    const first = await api.create({ ...fields, key });
    const body = { worker: "mailer", key, on_conflict: "reject" };
    const headers = { "idempotency-key": key };
    const second = await api.send("POST", "/v1/tasks", body, { headers });
    assertEquals([second.status, second.headers["retry-after"]], [409, wait]);
    await api.call("DELETE", `/v1/tasks/${first.textAt("id")}`);
    const third = await api.send("POST", "/v1/tasks", body, { headers });
    assertEquals(third.status, 201);
  }
  await api.close();
});

Deno.test("POST /v1/tasks gives the live task new values and a new date", async () => {
  const api = await openTasksApi();
  const first = await api.create({
    key: "k",
    data: 1,
    delay: "60s",
    tags: ["old"],
    repeat: { interval: "P1D" },
  });
  const second = await api.create({
    key: "k",
    data: 2,
    delay: "90s",
    on_conflict: "replace",
  });
  assertEquals(second.status, 200);
  assertEquals(second.at("id"), first.at("id"));
  assertEquals(second.at("data"), 2);
  assertEquals(second.at("tags"), []);
  assertEquals(second.at("repeat"), null);
  assertEquals(second.at("version"), 2);
  const date = new Date(api.clock.nowMs() + 90_000).toISOString();
  assertEquals(second.at("date"), date);
  const history = await api.call(
    "GET",
    `/v1/tasks/${first.textAt("id")}/history`,
  );
  assertEquals(history.at("data", 1, "type"), "updated");
  await api.close();
});

Deno.test("POST /v1/tasks gives the live task new values and leaves its date", async () => {
  const api = await openTasksApi();
  const first = await api.create({ key: "k", data: 1, delay: "60s" });
  const second = await api.create({
    key: "k",
    data: 2,
    delay: "90s",
    on_conflict: "keep_date",
  });
  assertEquals([second.status, second.at("data")], [200, 2]);
  assertEquals(second.at("date"), first.at("date"));
  await api.close();
});

Deno.test("POST /v1/tasks does not replace what runs once and runs", async () => {
  const api = await openTasksApi();
  await api.create({ key: "k" });
  await api.take();
  for (const on_conflict of ["replace", "keep_date"]) {
    const second = await api.create({ key: "k", on_conflict });
    assertEquals([second.status, second.at("code")], [409, "key_conflict"]);
    assertStringIncludes(second.textAt("detail"), "run_after");
  }
  await api.close();
});

Deno.test("POST /v1/tasks replaces a schedule while it runs, as PUT changes it", async () => {
  const api = await openTasksApi();
  const schedule = { key: "k", repeat: { interval: "P1D" } };
  const first = await api.create({ ...schedule, data: 1 });
  await api.take();
  for (const [data, on_conflict] of [[2, "replace"], [3, "keep_date"]]) {
    const answer = await api.create({ ...schedule, data, on_conflict });
    assertEquals([answer.status, answer.at("status")], [200, "running"]);
    assertEquals([answer.at("id"), answer.at("data")], [first.at("id"), data]);
    assertEquals(answer.at("date"), first.at("date"));
  }
  const moved = { ...schedule, delay: "60s", on_conflict: "replace" };
  const refused = await api.create(moved);
  assertEquals([refused.status, refused.at("code")], [409, "wrong_state"]);
  await api.close();
});

Deno.test("POST /v1/tasks leaves the date of a schedule that it replaces to the schedule", async () => {
  const api = await openTasksApi();
  const schedule = { key: "k", repeat: { cron: "0 7 * * *" } };
  await api.create({ ...schedule, date: "2020-01-01T00:00:00Z" });
  await api.work("complete");
  const body = { ...schedule, data: 2, on_conflict: "replace" };
  const [one, two] = [await api.create(body), await api.create(body)];
  assertEquals([one.at("due"), one.at("status")], [false, "done"]);
  assertEquals([two.at("date"), two.at("version")], [
    one.at("date"),
    one.at("version"),
  ]);
  await api.close();
});

Deno.test("POST /v1/tasks makes one task of many at once with a key", async () => {
  const api = await openTasksApi();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => api.create({ key: "k" })),
  );
  const ids = new Set(answers.map((answer) => answer.textAt("id")));
  assertEquals(ids.size, 1);
  assertEquals(answers.filter(({ status }) => status === 201).length, 1);
  await api.close();
});

Deno.test("POST /v1/tasks/batch settles keys within the batch", async () => {
  const api = await openTasksApi();
  const old = await api.create({ key: "old", data: 0 });
  const task = (key: string, data: unknown, on_conflict = "return") => ({
    worker: "mailer",
    key,
    data,
    on_conflict,
  });
  const answer = await api.send("POST", "/v1/tasks/batch", {
    tasks: [
      task("old", 1),
      task("old", 2, "reject"),
      task("old", 3, "replace"),
      task("new", 4),
      task("new", 5),
      task("new", 6, "reject"),
      task("new", 7, "replace"),
    ],
  });
  const statuses = [0, 1, 2, 3, 4, 5, 6].map((index) =>
    answer.at("results", index, "status")
  );
  assertEquals(statuses, [200, 409, 200, 201, 200, 409, 200]);
  for (const index of [0, 2]) {
    assertEquals(answer.at("results", index, "task", "id"), old.at("id"));
    assertEquals(answer.at("results", index, "task", "data"), 3);
  }
  for (const index of [3, 4, 6]) {
    assertEquals(answer.at("results", index, "task", "data"), 7);
  }
  const list = await api.call("GET", "/v1/tasks?count=true");
  assertEquals(list.at("count"), 2);
  await api.close();
});

Deno.test("POST /v1/tasks/batch keeps the date that the batch has given a task", async () => {
  const api = await openTasksApi();
  const old = await api.create({ key: "old", delay: "60s" });
  const task = (on_conflict: string, delay: number) => ({
    worker: "mailer",
    key: "old",
    data: delay,
    delay: `${delay}s`,
    on_conflict,
  });
  const answer = await api.send("POST", "/v1/tasks/batch", {
    tasks: [
      task("keep_date", 70),
      task("replace", 80),
      task("keep_date", 90),
      task("keep_date", 100),
    ],
  });
  assertEquals(answer.at("results", 3, "status"), 200);
  const read = await api.call("GET", `/v1/tasks/${old.textAt("id")}`);
  const date = new Date(api.clock.nowMs() + 80_000).toISOString();
  assertEquals([read.at("date"), read.at("data")], [date, 100]);
  await api.close();
});
