import { assertEquals } from "@std/assert";
import { WaitMetrics } from "./wait_metrics.ts";

function linesWith(metrics: WaitMetrics, text: string): readonly string[] {
  return metrics.text().split("\n").filter((line) => line.includes(text));
}

Deno.test("WaitMetrics.text() tells how many waits were within each bound", () => {
  const metrics = new WaitMetrics();
  for (const ms of [0, 0.1, 4, 31_000]) metrics.noteTurn("ten_1", ms);
  metrics.noteCommit("ten_1", 2);
  const turn = linesWith(metrics, 'for="turn"');
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
  assertEquals(linesWith(metrics, '_count{tenant="ten_1",for="commit"}'), [
    'tasks_wait_seconds_count{tenant="ten_1",for="commit"} 1',
  ]);
});

Deno.test("WaitMetrics tells strangers and what is no tenant's by name", () => {
  const metrics = new WaitMetrics();
  metrics.noteTurn({ group: "strangers", member: "192.0.2.1" }, 1);
  metrics.noteTurn({ group: "strangers", member: "192.0.2.2" }, 1);
  metrics.noteCommit("", 1);
  assertEquals(linesWith(metrics, "_count"), [
    'tasks_wait_seconds_count{tenant="strangers",for="turn"} 2',
    'tasks_wait_seconds_count{tenant="service",for="commit"} 1',
  ]);
});

Deno.test("WaitMetrics tells the tenants together that are more than a hundred", () => {
  const metrics = new WaitMetrics();
  for (let tenant = 0; tenant < 250; tenant++) {
    metrics.noteTurn(`ten_${tenant}`, 1);
  }
  metrics.noteTurn("ten_0", 1);
  const counts = linesWith(metrics, "_count");
  assertEquals(counts.length, 101);
  assertEquals(
    counts.at(-1),
    'tasks_wait_seconds_count{tenant="others",for="turn"} 151',
  );
});
