import { assertEquals } from "@std/assert";
import {
  listFaults,
  openTasksApi,
  type TasksApi,
} from "../tasks/testing/tasks_api.ts";

/** Reads the overview once the one before is no longer shown again. */
async function readOverview(api: TasksApi, key?: string) {
  await api.clock.advanceAsync(1_000);
  const call = key === undefined ? {} : { key };
  return Object((await api.call("GET", "/v1/overview", call)).json);
}

const HOURLY = { interval: "PT1H", on_failure: "continue" };

/** Lets counted activity be written. */
async function settle({ clock }: TasksApi): Promise<void> {
  await clock.advanceAsync(5_000);
}

Deno.test("GET /v1/overview counts tasks by status, worker and job, the most first", async () => {
  const api = await openTasksApi();
  for (let index = 0; index < 3; index++) await api.create({ job: "mail" });
  await api.create({ job: "report" });
  await api.create({ job: "later", delay: "PT1H" });
  await api.take();
  const { counts, workers, jobs, late, late_since: since } = await readOverview(
    api,
  );
  assertEquals([counts.waiting, counts.running, counts.scheduled], [3, 1, 1]);
  const name = { worker: "mailer", worker_id: api.worker.id };
  const none = { retry: 0, failed: 0, late: 0, late_is_exact: true };
  assertEquals(workers, [
    { ...name, waiting: 3, running: 1, ...none, late_since: null },
  ]);
  assertEquals(jobs, [
    { ...name, job: "mail", waiting: 2, running: 1, ...none, late_since: null },
    {
      ...{ ...name, job: "report", waiting: 1, running: 0 },
      ...none,
      late_since: null,
    },
  ]);
  assertEquals([late, since], [0, null]);
  await api.close();
});

Deno.test("GET /v1/overview tells of workers and jobs with late tasks that no process asks for", async () => {
  const api = await openTasksApi();
  const made = await api.create({ job: "mail" });
  const worker = { tenantId: api.tenant.id, workerId: api.worker.id };
  const seenAt = new Date(api.clock.nowMs()).toISOString();
  api.engine.liveness.seen(worker, { nowMs: api.clock.nowMs() });
  const read = () => readOverview(api);
  assertEquals((await read()).silent_workers, []);
  await api.clock.advanceAsync(61_000);
  const late = {
    ...{ worker: "mailer", worker_id: api.worker.id },
    ...{ late: 1, late_is_exact: true, late_since: made.at("date") },
    last_seen_at: seenAt,
  };
  const { silent_workers: silent, unasked_jobs: jobs } = await read();
  assertEquals([silent, jobs], [[late], []]);
  const nowMs = api.clock.nowMs();
  api.engine.liveness.seen(worker, { jobs: ["report"], nowMs });
  const now = await read();
  assertEquals(now.silent_workers, []);
  assertEquals(now.unasked_jobs, [{ ...late, job: "mail" }]);
  const { repositories } = api.engine.parts;
  await api.write(repositories.workers.update(api.worker, {
    ...{ ...api.worker, version: 2, isPaused: true },
  }));
  assertEquals((await read()).unasked_jobs, []);
  await api.close();
});

Deno.test("GET /v1/overview shows schedules whose last run failed, until one succeeds", async () => {
  const api = await openTasksApi();
  const made = await api.create({
    job: "report",
    key: "daily",
    repeat: HOURLY,
    retry: null,
  });
  const read = async () => (await readOverview(api)).failing_schedules;
  assertEquals(await read(), []);
  await api.work("fail");
  const at = new Date(api.clock.nowMs()).toISOString();
  const task = await api.call("GET", `/v1/tasks/${made.textAt("id")}`);
  assertEquals(await read(), [{
    id: made.at("id"),
    ...{ worker: "mailer", worker_id: api.worker.id, job: "report" },
    ...{ key: "daily", status: "scheduled", failed_at: at },
    error: { code: "boom", message: "It broke", at },
    next: task.at("date"),
  }]);
  await api.send("POST", `/v1/tasks/${made.textAt("id")}/run`, {});
  await api.work("complete");
  assertEquals(await read(), []);
  await api.close();
});

Deno.test("GET /v1/overview tells of limits that are nearly used up, to those who may read the usage", async () => {
  const api = await openTasksApi({ limits: { activeTasks: 5 } });
  const read = async (key?: string) =>
    (await readOverview(api, key)).near_limits;
  for (let index = 0; index < 3; index++) await api.create();
  assertEquals(await read(), []);
  await api.create();
  assertEquals(await read(), [
    { limit: "active_tasks", allowed: 5, used: 4 },
  ]);
  const reader = await api.addKey({ scopes: ["tasks:read"] });
  assertEquals(await read(reader), null);
  await api.close();
});

Deno.test("GET /v1/overview surveys a tenant once a second, however many look, and no other's tasks", async () => {
  const api = await openTasksApi();
  await api.create();
  const waiting = async (call = {}) =>
    Object((await api.call("GET", "/v1/overview", call)).json).counts.waiting;
  assertEquals(await waiting(), 1);
  await api.create();
  assertEquals(await waiting(), 1);
  await api.clock.advanceAsync(1_000);
  assertEquals(await waiting(), 2);
  const other = await api.addTenant("other");
  assertEquals(
    await waiting({ host: "other.tercet.test", key: other.ownerKey }),
    0,
  );
  await api.close();
});

Deno.test("GET /v1/activity counts what tasks did, of all, of a worker and of a job", async () => {
  const api = await openTasksApi();
  await api.create({ job: "mail" });
  await api.create({ job: "report" });
  await api.work("complete");
  await settle(api);
  const read = async (query: string) =>
    Object((await api.call("GET", `/v1/activity?${query}`)).json);
  const { from, to, step, created, succeeded, ...others } = await read("");
  assertEquals(step, "PT5M");
  assertEquals(Date.parse(to) - Date.parse(from), 86_400_000 + 300_000);
  assertEquals(created.length, 289);
  assertEquals([created.at(-1), succeeded.at(-1)], [2, 1]);
  assertEquals(Object.keys(others), [
    ...["started", "failed", "lost", "completed", "missed"],
    ...["lag_sum", "lag_max", "duration_sum"],
  ]);
  const minutes = await read("step=PT1M&worker=mailer&job=report");
  assertEquals(minutes.created.length, 121);
  assertEquals(
    minutes.created.reduce((sum: number, count: number) => sum + count),
    1,
  );
  assertEquals((await read("step=PT1H&worker=none")).created.at(-1), 0);
  const day = Object((await api.call("GET", "/v1/overview")).json).activity;
  assertEquals(day, { from, to, step, created, succeeded, ...others });
  await api.close();
});

Deno.test("GET /v1/activity refuses a job without its worker, and an end before the beginning", async () => {
  const api = await openTasksApi();
  const faults = async (query: string) =>
    listFaults(await api.call("GET", `/v1/activity?${query}`));
  assertEquals(await faults("job=mail"), [["worker", "required"]]);
  assertEquals(
    await faults("from=2029-01-01T00:00:00Z&to=2028-01-01T00:00:00Z"),
    [["from", "end_before_start"]],
  );
  assertEquals(await faults("step=PT2M"), [["step", "unknown_choice"]]);
  await api.close();
});
