import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import { BLANK_TASK, type Task } from "../domain/task.ts";
import { TaskMetrics } from "./task_metrics.ts";
import { TenantLabels } from "./tenant_labels.ts";

const WAITING: Task = { ...BLANK_TASK, tenantId: "a", status: "waiting" };
const RUNNING: Task = {
  ...WAITING,
  status: "running",
  lagMs: 400,
  attempt: {
    id: "lse_1",
    tokenHash: "",
    startedAtMs: 1_000,
    expiresAtMs: 9_000,
    deadlineMs: 9_000,
    leaseMs: 8_000,
  },
};

function ended(
  outcome: "completed" | "failed" | "released" | "lost" | "canceled",
  over: Partial<Task>,
): Task {
  return {
    ...RUNNING,
    attempt: undefined,
    settled: { id: "lse_1", tokenHash: "", outcome },
    updatedAtMs: 3_000,
    ...over,
  };
}

function linesAfter(
  changes: readonly (readonly [Task | undefined, Task | undefined])[],
): readonly string[] {
  const registry = new MetricRegistry();
  const tenants = new TenantLabels({
    clock: new FakeClock(),
    onFreed: () => {},
  });
  const metrics = new TaskMetrics(registry, tenants);
  for (const [previous, next] of changes) metrics.note({ previous, next });
  return registry.text().split("\n").filter((line) =>
    line.startsWith("tasks_") && !line.includes("_bucket") &&
    !line.endsWith(" 0")
  );
}

Deno.test("TaskMetrics counts a task from its making to its end", () => {
  const done = ended("completed", { status: "complete" });
  assertEquals(
    linesAfter([
      [undefined, WAITING],
      [WAITING, RUNNING],
      // A heartbeat begins and ends nothing.
      [RUNNING, { ...RUNNING, version: 4 }],
      [RUNNING, done],
      [done, { ...done, tags: ["late"] }],
      [done, undefined],
    ]),
    [
      'tasks_created_total{tenant="a"} 1',
      'tasks_finished_total{tenant="a",outcome="complete"} 1',
      'tasks_attempts_started_total{tenant="a"} 1',
      'tasks_attempts_ended_total{tenant="a",outcome="completed"} 1',
      "tasks_attempt_duration_seconds_sum 2",
      "tasks_attempt_duration_seconds_count 1",
      "tasks_attempt_lateness_seconds_sum 0.4",
      "tasks_attempt_lateness_seconds_count 1",
    ],
  );
});

Deno.test("TaskMetrics tells attempts that were lost, failed, released or canceled apart", () => {
  const lines = linesAfter([
    [RUNNING, ended("lost", { status: "waiting" })],
    [RUNNING, ended("failed", { status: "retry" })],
    [RUNNING, ended("released", { status: "waiting" })],
    [RUNNING, ended("canceled", { status: "canceled" })],
    [WAITING, { ...WAITING, status: "expired" }],
  ]);
  assertEquals(
    lines.filter((line) => /ended|finished/.test(line)),
    [
      'tasks_finished_total{tenant="a",outcome="canceled"} 1',
      'tasks_finished_total{tenant="a",outcome="expired"} 1',
      'tasks_attempts_ended_total{tenant="a",outcome="lost"} 1',
      'tasks_attempts_ended_total{tenant="a",outcome="failed"} 1',
      'tasks_attempts_ended_total{tenant="a",outcome="released"} 1',
      'tasks_attempts_ended_total{tenant="a",outcome="canceled"} 1',
    ],
  );
});
