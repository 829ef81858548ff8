import { assertEquals, assertStringIncludes } from "@std/assert";
import { listFaults, openTasksApi } from "./testing/tasks_api.ts";

const DAY_MS = 86_400_000;

Deno.test("POST /v1/tasks keeps to the jobs that the worker lists", async () => {
  const api = await openTasksApi();
  await api.addWorker({ name: "picky", jobs: { send: {}, default: {} } });
  const create = (body: Record<string, unknown>) =>
    api.create({ worker: "picky", ...body });
  assertEquals((await create({ job: "send" })).status, 201);
  assertEquals((await create({})).status, 201);
  const refused = await create({ job: "toString" });
  assertEquals(listFaults(refused), [["/job", "unknown_job"]]);
  assertStringIncludes(refused.textAt("detail"), '"send"');
  await api.close();
});

Deno.test("POST /v1/tasks keeps to the limits of the plan", async () => {
  const api = await openTasksApi({
    limits: {
      payloadBytes: 100,
      maxDelayMs: 30 * DAY_MS,
      minIntervalMs: 60_000,
    },
  });
  const large = await api.create({ data: "ä".repeat(50) });
  assertEquals([large.status, large.at("code")], [413, "too_large"]);
  assertEquals(large.at("limit"), 100);
  assertEquals((await api.create({ data: "ä".repeat(49) })).status, 201);
  assertEquals(listFaults(await api.create({ delay: "P31D" })), [[
    "/delay",
    "too_late",
  ]]);
  assertEquals((await api.create({ delay: "P30D" })).status, 201);
  assertEquals(
    listFaults(await api.create({ repeat: { cron: "*/30 * * * * *" } })),
    [["/repeat/cron", "too_frequent"]],
  );
  assertEquals(
    (await api.create({ repeat: { cron: "* * * * *" } })).status,
    201,
  );
  await api.close();
});

Deno.test("POST /v1/tasks keeps to the number of active tasks", async () => {
  const api = await openTasksApi({ limits: { activeTasks: 2 } });
  const first = await api.create();
  await api.create();
  const third = await api.create();
  assertEquals([third.status, third.at("code")], [403, "quota_exceeded"]);
  assertEquals([third.at("limit"), third.at("used"), third.at("plan")], [
    2,
    2,
    "test",
  ]);
  await api.call("POST", `/v1/tasks/${first.textAt("id")}/cancel`);
  assertEquals((await api.create()).status, 201);
  const together = await Promise.all([api.create(), api.create()]);
  assertEquals(together.map(({ status }) => status), [403, 403]);
  await api.close();
});

Deno.test("POST /v1/tasks/:id/run keeps a schedule that makes tasks to the number of active tasks", async () => {
  const api = await openTasksApi({ limits: { activeTasks: 2 } });
  const schedule = await api.create({
    delay: "P1D",
    repeat: { interval: "P1D", mode: "spawn" },
  });
  const run = () => api.call("POST", `/v1/tasks/${schedule.textAt("id")}/run`);
  assertEquals((await run()).status, 200);
  const refused = await run();
  assertEquals([refused.status, refused.at("code")], [403, "quota_exceeded"]);
  assertEquals([refused.at("limit"), refused.at("used"), refused.at("plan")], [
    2,
    2,
    "test",
  ]);
  await api.work("complete");
  assertEquals((await run()).status, 200);
  await api.close();
});

Deno.test("POST /v1/tasks keeps to the executions of the month", async () => {
  const api = await openTasksApi({ limits: { executionsPerMonth: 1 } });
  await api.create();
  await api.work("complete");
  const next = await api.create();
  assertEquals([next.status, next.at("limit")], [403, 1]);
  await api.close();
});

Deno.test("POST /v1/tasks needs a scope that writes", async () => {
  const api = await openTasksApi();
  const key = await api.addKey({ scopes: ["tasks:read"] });
  const answer = await api.send("POST", "/v1/tasks", { worker: "mailer" }, {
    key,
  });
  assertEquals([answer.status, answer.at("scope")], [403, "tasks:write"]);
  await api.close();
});

Deno.test("POST /v1/tasks hides data from callers that see none", async () => {
  const api = await openTasksApi();
  const key = await api.addKey({ payloads: false });
  const answer = await api.send("POST", "/v1/tasks", {
    worker: "mailer",
    data: { secret: 1 },
  }, { key });
  assertEquals([answer.status, answer.at("data")], [201, undefined]);
  const seen = await api.call("GET", `/v1/tasks/${answer.textAt("id")}`);
  assertEquals(seen.at("data"), { secret: 1 });
  await api.close();
});

Deno.test("a task that has ended lives again only when the plan has room for it", async () => {
  const api = await openTasksApi({ limits: { activeTasks: 2 } });
  const made: string[] = [];
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 2; index++) {
      const answer = await api.create();
      assertEquals(answer.status, 201);
      made.push(answer.textAt("id"));
    }
    if (round > 0) break;
    for (const id of made) await api.call("POST", `/v1/tasks/${id}/cancel`);
  }
  const [first, second, third] = made;
  const path = `/v1/tasks/${first}`;
  const attempts = [
    await api.call("POST", `${path}/retry`),
    await api.send("PATCH", path, { status: "waiting" }),
    await api.send("PUT", path, { date: "2999-01-01T00:00:00Z" }),
  ];
  for (const answer of attempts) {
    assertEquals(
      [answer.status, answer.at("code"), answer.at("limit"), answer.at("used")],
      [403, "quota_exceeded", 2, 2],
    );
  }
  const retryAll = { action: "retry", ids: [first, second] };
  const bulk = await api.send("POST", "/v1/tasks/actions", retryAll);
  assertEquals([bulk.at("changed"), bulk.at("failed")], [0, 2]);
  assertEquals(bulk.at("errors", 0, "code"), "quota_exceeded");
  // Labels of an ended task need no room.
  const labels = await api.send("PATCH", path, { tags: ["old"] });
  assertEquals(labels.status, 200);
  await api.call("POST", `/v1/tasks/${third}/cancel`);
  const again = await api.send("POST", "/v1/tasks/actions", retryAll);
  assertEquals([again.at("changed"), again.at("failed")], [1, 1]);
  const active = await api.call("GET", "/v1/tasks?status=active&count");
  assertEquals(active.at("count"), 2);
  await api.call("POST", `${path}/cancel`);
  const moved = await api.send("PATCH", `/v1/tasks/${second}`, {
    status: "waiting",
  });
  assertEquals([moved.status, moved.at("status")], [200, "waiting"]);
  const full = await api.call("POST", `${path}/retry`);
  assertEquals(full.status, 403);
  await api.close();
});
