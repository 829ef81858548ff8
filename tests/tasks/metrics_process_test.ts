import { assert, assertEquals } from "@std/assert";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { PushReceiver } from "./push_receiver.ts";
import type { TaskJson } from "./tasks_client.ts";
import { makeTenant } from "./tenant_client.ts";

Deno.test("tasks tells what became of tasks, calls, commits and requests in its metrics", async () => {
  await using folder = await DataFolder.make();
  await using receiver = new PushReceiver((_, index) =>
    index === 0
      ? Response.json({ sent: true })
      : new Response("never", { status: 410 })
  );
  await using service = await startTasks({ dataDir: folder.path });
  const url = await metricsUrl(service);
  using client = await makeTenant(service);
  for (const body of [{ name: "hook", url: receiver.url }, { name: "pull" }]) {
    await client.expect(201, ["POST", "/api/v1/workers", body]);
  }
  for (const status of ["complete", "failed"]) {
    const { id } = await client.expect<TaskJson>(201, [
      "POST",
      "/api/v1/tasks",
      { worker: "hook" },
    ]);
    await waitUntil(async () => {
      const task = await client.expect<TaskJson>(200, [
        "GET",
        `/api/v1/tasks/${id}`,
      ]);
      return task.status === status;
    }, { what: `the end of ${id}` });
  }
  for (let task = 0; task < 3; task++) {
    await client.expect(201, ["POST", "/api/v1/tasks", { worker: "pull" }]);
  }
  await client.expect(201, ["POST", "/api/v1/tasks", {
    worker: "pull",
    date: "2999-01-01T00:00:00Z",
  }]);
  await client.expect(200, ["POST", "/api/v1/workers/pull/lease", {
    max: 1,
  }]);
  let families = await readMetrics(url);
  await waitUntil(async () => {
    families = await readMetrics(url);
    return findSeries(families, "tasks_queue_tasks", { status: "running" }) ===
      1;
  }, { what: "what the queues hold" });
  const value = (
    name: string,
    labels?: Readonly<Record<string, string>>,
  ): number | undefined => findSeries(families, name, labels);
  const tenant = families.get("tasks_created_total")?.metrics[0]?.labels
    ?.["tenant"] ?? "";
  assertEquals({
    waiting: value("tasks_queue_tasks", { tenant, status: "waiting" }),
    scheduled: value("tasks_queue_tasks", { tenant, status: "scheduled" }),
    created: value("tasks_created_total", { tenant }),
    complete: value("tasks_finished_total", { tenant, outcome: "complete" }),
    failed: value("tasks_finished_total", { tenant, outcome: "failed" }),
    started: value("tasks_attempts_started_total", { tenant }),
    completed: value("tasks_attempts_ended_total", {
      tenant,
      outcome: "completed",
    }),
    taken: value("tasks_attempt_lateness_seconds_count"),
    calls: value("tasks_push_calls_total", { outcome: "2xx" }),
    refused: value("tasks_push_calls_total", { outcome: "4xx" }),
    timed: value("tasks_push_call_duration_seconds_count"),
    underWay: value("tasks_push_calls_in_flight"),
    made: value("tasks_http_requests_total", {
      route: "POST /v1/tasks",
      status: "201",
    }),
  }, {
    ...{ waiting: 2, scheduled: 1, created: 6, complete: 1, failed: 1 },
    ...{ started: 3, completed: 1, taken: 3, calls: 1, refused: 1, timed: 2 },
    ...{ underWay: 0, made: 6 },
  });
  for (
    const name of [
      "tasks_store_commits_total",
      "tasks_store_commit_duration_seconds_count",
      "tasks_store_commit_rows_count",
      "tasks_wait_seconds_count",
      "tasks_queue_lag_seconds",
      "tasks_http_request_duration_seconds_count",
      "process_resident_memory_bytes",
      "process_start_time_seconds",
    ]
  ) {
    assert((value(name) ?? 0) > 0, name);
  }
});

Deno.test("tasks counts an attempt whose lease ran out as lost", async () => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({ dataDir: folder.path });
  const url = await metricsUrl(service);
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", {
    name: "pull",
    lease: "PT5S",
  }]);
  await client.expect(201, ["POST", "/api/v1/tasks", { worker: "pull" }]);
  await client.expect(200, ["POST", "/api/v1/workers/pull/lease", {
    max: 1,
  }]);
  const labels = { outcome: "lost" };
  await waitUntil(async () => {
    const families = await readMetrics(url);
    return findSeries(families, "tasks_attempts_ended_total", labels) === 1;
  }, { what: "the loss of the lease", intervalMs: 100 });
});
