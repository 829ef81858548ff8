import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { processStats } from "./process_stats.ts";
import { StatsRegistry } from "./registry.ts";

function readValue(registry: StatsRegistry, name: string): number {
  const reading = registry.snapshot().find((stat) => stat.name === name);
  if (reading === undefined) throw new Error(`no ${name}`);
  return reading.kind === "timer" ? reading.summary.count : reading.value;
}

Deno.test("processStats() shows memory and processor time when it has started, and follows them", async () => {
  const registry = new StatsRegistry();
  const clock = new FakeClock();
  let cpuSeconds = 0.25;
  const part = processStats({
    stats: registry,
    clock,
    look: () => ({
      residentBytes: 1_000 * cpuSeconds,
      heapBytes: 100,
      cpuSeconds,
      startedAtSeconds: 1_795_000_000,
    }),
  });
  await part.start();
  const name = (last: string) => `ratelimit.process.${last}`;
  assertEquals(readValue(registry, name("resident_memory_bytes")), 250);
  assertEquals(readValue(registry, name("heap_used_bytes")), 100);
  assertEquals(readValue(registry, name("start_time_seconds")), 1_795_000_000);
  assertEquals(readValue(registry, name("cpu_seconds_total")), 0.25);
  cpuSeconds = 1.5;
  clock.advance(500);
  assertEquals(readValue(registry, name("resident_memory_bytes")), 1_500);
  assertEquals(readValue(registry, name("cpu_seconds_total")), 1.5);
  assertEquals(readValue(registry, name("event_loop_lag")), 1);
  await part.stop(0);
  cpuSeconds = 9;
  clock.advance(5_000);
  assertEquals(readValue(registry, name("cpu_seconds_total")), 1.5);
});

Deno.test("processStats() measures this process when nothing else is given", async () => {
  const registry = new StatsRegistry();
  const part = processStats({ stats: registry, clock: new FakeClock() });
  await part.start();
  await part.stop(0);
  const rss = readValue(registry, "ratelimit.process.resident_memory_bytes");
  const heap = readValue(registry, "ratelimit.process.heap_used_bytes");
  assert(rss > 1_000_000 && heap > 0 && heap < rss * 10);
  assert(readValue(registry, "ratelimit.process.cpu_seconds_total") > 0);
  const startedAt = readValue(registry, "ratelimit.process.start_time_seconds");
  assert(startedAt <= Date.now() / 1_000 && startedAt > 1_700_000_000);
});
