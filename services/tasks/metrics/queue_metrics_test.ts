import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import type { TenantQueue } from "../store/store.ts";
import { QueueMetrics } from "./queue_metrics.ts";
import { TenantLabels } from "./tenant_metrics.ts";

class Bench {
  readonly clock = new FakeClock(1_000_000);
  readonly logger = new RecordingLogger();
  readonly registry = new MetricRegistry();
  readonly metrics: QueueMetrics;
  queues: readonly TenantQueue[] = [];
  asked = 0;
  takesMs = 0;
  failure: Error | undefined;

  constructor() {
    const { clock, logger, registry } = this;
    const tenants = new TenantLabels({ clock, onFreed: () => {} });
    const tenantQueues = (): Promise<readonly TenantQueue[]> => {
      this.asked++;
      clock.advance(this.takesMs);
      return this.failure === undefined
        ? Promise.resolve(this.queues)
        : Promise.reject(this.failure);
    };
    this.metrics = new QueueMetrics(registry, {
      ...{ store: { tenantQueues }, tenants, clock, logger },
    });
  }

  async lines(): Promise<readonly string[]> {
    await this.metrics.refresh();
    return this.registry.text().split("\n").filter((line) =>
      line.startsWith("tasks_")
    );
  }
}

Deno.test("QueueMetrics tells tasks by status and for how long they have been due", async () => {
  const bench = new Bench();
  bench.queues = [
    {
      tenantId: "a",
      counts: { waiting: 3, running: 1, complete: 99 },
      dueSinceMs: 940_000,
    },
    { tenantId: "b", counts: { scheduled: 2 }, dueSinceMs: undefined },
    { tenantId: "c", counts: { done: 1 }, dueSinceMs: 1_000_500 },
  ];
  assertEquals(await bench.lines(), [
    'tasks_queue_tasks{tenant="a",status="waiting"} 3',
    'tasks_queue_tasks{tenant="a",status="running"} 1',
    'tasks_queue_tasks{tenant="b",status="scheduled"} 2',
    'tasks_queue_tasks{tenant="c",status="done"} 1',
    'tasks_queue_lag_seconds{tenant="a"} 60',
    'tasks_queue_lag_seconds{tenant="b"} 0',
    'tasks_queue_lag_seconds{tenant="c"} 0',
  ]);
});

Deno.test("QueueMetrics tells the hundred tenants with most tasks, and the others together", async () => {
  const bench = new Bench();
  bench.queues = Array.from({ length: 150 }, (_, index) => ({
    tenantId: `t${index}`,
    counts: { waiting: index + 1 },
    dueSinceMs: 1_000_000 - index * 1_000,
  }));
  const lines = await bench.lines();
  assertEquals(lines.length, 2 * 101);
  // The fifty tenants with the fewest tasks share a label: 1 + 2 + … + 50
  // tasks.
  assertEquals(lines.filter((line) => line.includes("others")), [
    'tasks_queue_tasks{tenant="others",status="waiting"} 1275',
    'tasks_queue_lag_seconds{tenant="others"} 49',
  ]);
});

Deno.test("QueueMetrics asks the store at most once a second, and for a fiftieth of the time", async () => {
  const bench = new Bench();
  await bench.lines();
  bench.clock.advance(999);
  await bench.lines();
  assertEquals(bench.asked, 1);
  bench.clock.advance(1);
  bench.takesMs = 100;
  await bench.lines();
  assertEquals(bench.asked, 2);
  bench.clock.advance(4_999);
  await bench.lines();
  assertEquals(bench.asked, 2);
  bench.clock.advance(1);
  await Promise.all([bench.lines(), bench.lines()]);
  assertEquals(bench.asked, 3);
});

Deno.test("QueueMetrics tells what it knew while the store fails, and logs that", async () => {
  const bench = new Bench();
  bench.queues = [{
    tenantId: "a",
    counts: { waiting: 3 },
    dueSinceMs: 1_000_000,
  }];
  await bench.lines();
  bench.failure = new Error("the disk is gone");
  bench.clock.advance(2_000);
  assertEquals(await bench.lines(), [
    'tasks_queue_tasks{tenant="a",status="waiting"} 3',
    'tasks_queue_lag_seconds{tenant="a"} 2',
  ]);
  assertEquals(bench.logger.lines.map(({ level }) => level), ["warning"]);
});
