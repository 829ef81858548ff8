import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { MetricRegistry } from "../../shared/metrics/registry.ts";
import { TenantLabels } from "./tenant_labels.ts";
import { WaitMetrics } from "./wait_metrics.ts";

interface Opened {
  readonly registry: MetricRegistry;
  readonly clock: FakeClock;
  readonly metrics: WaitMetrics;
}

function open(): Opened {
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
  const { registry, metrics } = open();
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
  const { registry, metrics } = open();
  metrics.noteTurn({ group: "strangers", member: "192.0.2.1" }, 1);
  metrics.noteTurn({ group: "strangers", member: "192.0.2.2" }, 1);
  metrics.noteCommit("", 1);
  assertEquals(linesWith(registry, "_count"), [
    'tasks_wait_seconds_count{tenant="strangers",for="turn"} 2',
    'tasks_wait_seconds_count{tenant="service",for="commit"} 1',
  ]);
});

Deno.test("WaitMetrics tells the tenants together that come when a hundred have labels", () => {
  const { registry, clock, metrics } = open();
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
  // The places of those that were idle for an hour are free again.
  assertEquals(linesWith(registry, "_count"), [
    'tasks_wait_seconds_count{tenant="ten_7",for="turn"} 2',
    'tasks_wait_seconds_count{tenant="others",for="turn"} 150',
    'tasks_wait_seconds_count{tenant="ten_200",for="turn"} 1',
  ]);
});
