import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { addProcessMetrics } from "./process_metrics.ts";
import { MetricRegistry } from "./registry.ts";

function readValue(registry: MetricRegistry, series: string): number {
  const line = registry.text().split("\n")
    .find((line) => line.startsWith(`${series} `));
  return Number(line?.split(" ")[1]);
}

Deno.test("addProcessMetrics() tells memory, processor time and start of this process", () => {
  const registry = new MetricRegistry();
  addProcessMetrics(registry, new FakeClock());
  const nowS = Date.now() / 1_000;
  assert(readValue(registry, "process_resident_memory_bytes") > 1_000_000);
  assert(readValue(registry, "process_cpu_seconds_total") > 0);
  const startS = readValue(registry, "process_start_time_seconds");
  assert(startS > nowS - 86_400 && startS <= nowS + 1, String(startS));
});

Deno.test("addProcessMetrics() counts how late timers fire while its part runs", async () => {
  const registry = new MetricRegistry();
  const clock = new FakeClock(0);
  let heldUpMs = 0;
  const part = addProcessMetrics(registry, {
    nowMs: () => clock.nowMs() + heldUpMs,
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
  });
  const counts = (): readonly number[] =>
    ['bucket{le="0.005"}', 'bucket{le="0.05"}', "count"].map((end) =>
      readValue(registry, `process_event_loop_lag_seconds_${end}`)
    );
  await part.start();
  clock.advance(250);
  assertEquals(counts(), [1, 1, 1]);
  heldUpMs += 40;
  clock.advance(250);
  assertEquals(counts(), [1, 2, 2]);
  await part.stop(0);
  clock.advance(10_000);
  assertEquals([counts(), clock.pendingTimers], [[1, 2, 2], 0]);
});
