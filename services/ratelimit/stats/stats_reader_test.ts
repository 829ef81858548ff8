import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { StatsRegistry } from "./registry.ts";
import type { StatChange } from "./stats_reader.ts";

Deno.test("reader.changes() tells growth, to each reader by itself", () => {
  const stats = new StatsRegistry();
  const one = stats.openReader();
  const other = stats.openReader();
  const counter = stats.counter("c");
  counter.add(2);
  assertEquals(increases(one.changes()), { c: 2 });
  assertEquals(increases(one.changes()), {});
  counter.add(5);
  assertEquals(increases(one.changes()), { c: 5 });
  assertEquals(increases(other.changes()), { c: 7 });
});

Deno.test("reader.changes() begins with what was counted before", () => {
  const stats = new StatsRegistry();
  stats.counter("c").add(4);
  assertEquals(increases(stats.openReader().changes()), { c: 4 });
});

Deno.test("reader.changes() tells gauges always and marks new values", () => {
  const stats = new StatsRegistry();
  const gauge = stats.gauge("g");
  const reader = stats.openReader();
  const marks = () =>
    [...reader.changes()].map((change) =>
      change.kind === "gauge" && change.changed
    );
  assertEquals(marks(), [true]);
  assertEquals(marks(), [false]);
  gauge.set(1);
  assertEquals(marks(), [true]);
  gauge.set(1);
  assertEquals(marks(), [false]);
});

Deno.test("reader.changes() gathers timers made before and after it", () => {
  const stats = new StatsRegistry();
  const before = stats.timer("before");
  before.record(100);
  const reader = stats.openReader({ maxTimerSamples: 2, random: () => 0.99 });
  for (const ms of [1, 2, 3]) before.record(ms);
  stats.timer("after").record(4);
  assertEquals([...reader.changes()], [
    {
      kind: "timer",
      name: "before",
      interval: {
        ...{ count: 3, sumMs: 6, maxMs: 3, samplesMs: [1, 2] },
        buckets: [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      },
      index: 0,
    },
    {
      kind: "timer",
      name: "after",
      interval: {
        ...{ count: 1, sumMs: 4, maxMs: 4, samplesMs: [4] },
        buckets: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      },
      index: 1,
    },
  ]);
  assertEquals([...reader.changes()], []);
  reader.close();
  before.record(5);
  stats.timer("later").record(6);
  assertEquals([...reader.changes()], []);
});

Deno.test("reader.changes() leaves what was not walked over for later", () => {
  const stats = new StatsRegistry();
  stats.counter("a").add();
  stats.counter("b").add();
  const reader = stats.openReader();
  for (const change of reader.changes()) {
    assertEquals(change.name, "a");
    break;
  }
  assertEquals(increases(reader.changes()), { b: 1 });
});

Deno.test("reader loses and doubles no hit when changes are given back", () => {
  const random = new SeededRandom(5);
  const stats = new StatsRegistry();
  const reader = stats.openReader();
  const added: Record<string, number> = {};
  const told: Record<string, number> = {};
  const take = (change: StatChange) => {
    if (change.kind !== "counter") return;
    told[change.name] = (told[change.name] ?? 0) + change.increase;
  };
  for (let round = 0; round < 5_000; round++) {
    const name = `c${random.below(8)}`;
    const amount = 1 + random.below(9);
    stats.counter(name).add(amount);
    added[name] = (added[name] ?? 0) + amount;
    if (random.below(4) > 0) continue;
    const stopAt = random.below(12);
    const walked: StatChange[] = [];
    for (const change of reader.changes()) {
      walked.push(change);
      if (walked.length === stopAt) break;
      if (random.below(3) === 0) {
        stats.counter(name).add(1);
        added[name] = (added[name] ?? 0) + 1;
      }
    }
    const sent = random.below(walked.length + 1);
    walked.slice(0, sent).forEach(take);
    reader.giveBack(walked.slice(sent));
  }
  for (const change of reader.changes()) take(change);
  assertEquals(told, added);
});

Deno.test("reader.giveBack() makes a gauge new again", () => {
  const stats = new StatsRegistry();
  stats.gauge("g").set(3);
  const reader = stats.openReader();
  reader.giveBack([...reader.changes()]);
  const [gauge] = reader.changes();
  assertEquals(gauge?.kind === "gauge" && gauge.changed, true);
});

function increases(changes: Iterable<StatChange>): Record<string, number> {
  const found: Record<string, number> = {};
  for (const change of changes) {
    if (change.kind === "counter") found[change.name] = change.increase;
  }
  return found;
}
