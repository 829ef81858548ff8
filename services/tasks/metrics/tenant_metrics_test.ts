import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import { BLANK_TASK, type Task } from "../domain/task.ts";
import { TaskMetrics, TenantLabels, WaitMetrics } from "./tenant_metrics.ts";

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
      // A heartbeat neither starts nor ends an attempt.
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

interface OpenedWaits {
  readonly registry: MetricRegistry;
  readonly clock: FakeClock;
  readonly metrics: WaitMetrics;
}

function openWaits(): OpenedWaits {
  const registry = new MetricRegistry();
  const clock = new FakeClock();
  const tenants = new TenantLabels({
    clock,
    onFreed: (label) => registry.forget("tenant", label),
  });
  return { registry, clock, metrics: new WaitMetrics(registry, tenants) };
}

function linesWith(registry: MetricRegistry, text: string): readonly string[] {
  return registry.text().split("\n").filter((line) => line.includes(text));
}

Deno.test("WaitMetrics tells how many waits were within each bound", () => {
  const { registry, metrics } = openWaits();
  for (const ms of [0, 0.1, 4, 31_000]) metrics.noteTurn("ten_1", ms);
  metrics.noteCommit("ten_1", 2);
  const turn = linesWith(registry, 'for="turn"');
  const at = (bound: string): string | undefined =>
    turn.find((line) => line.includes(`le="${bound}"`))?.split(" ")[1];
  assertEquals(
    ["0.0001", "0.003", "0.005", "30", "+Inf"].map(at),
    ["2", "2", "3", "3", "4"],
  );
  assertEquals(turn.slice(-2), [
    'tasks_wait_seconds_sum{tenant="ten_1",for="turn"} 31.0041',
    'tasks_wait_seconds_count{tenant="ten_1",for="turn"} 4',
  ]);
  assertEquals(linesWith(registry, '_count{tenant="ten_1",for="commit"}'), [
    'tasks_wait_seconds_count{tenant="ten_1",for="commit"} 1',
  ]);
});

Deno.test("WaitMetrics tells strangers and what is no tenant's by name", () => {
  const { registry, metrics } = openWaits();
  metrics.noteTurn({ group: "strangers", member: "192.0.2.1" }, 1);
  metrics.noteTurn({ group: "strangers", member: "192.0.2.2" }, 1);
  metrics.noteCommit("", 1);
  assertEquals(linesWith(registry, "_count"), [
    'tasks_wait_seconds_count{tenant="strangers",for="turn"} 2',
    'tasks_wait_seconds_count{tenant="service",for="commit"} 1',
  ]);
});

Deno.test("WaitMetrics tells the tenants together that come when a hundred have labels", () => {
  const { registry, clock, metrics } = openWaits();
  for (let tenant = 0; tenant < 250; tenant++) {
    metrics.noteTurn(`ten_${tenant}`, 1);
  }
  metrics.noteTurn("ten_0", 1);
  const counts = linesWith(registry, "_count");
  assertEquals(counts.length, 101);
  assertEquals(counts[0]?.endsWith('{tenant="ten_0",for="turn"} 2'), true);
  assertEquals(
    counts.at(-1),
    'tasks_wait_seconds_count{tenant="others",for="turn"} 150',
  );
  clock.advance(3_600_000 - 1);
  metrics.noteTurn("ten_7", 1);
  clock.advance(60_000);
  metrics.noteTurn("ten_200", 1);
  // Labels of tenants that were idle for an hour are free again.
  assertEquals(linesWith(registry, "_count"), [
    'tasks_wait_seconds_count{tenant="ten_7",for="turn"} 2',
    'tasks_wait_seconds_count{tenant="others",for="turn"} 150',
    'tasks_wait_seconds_count{tenant="ten_200",for="turn"} 1',
  ]);
});
