import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { StatsRegistry } from "./registry.ts";

Deno.test("new StatsRegistry() refuses a bound that is none", () => {
  for (const maxNames of [0, -1, 1.5, NaN]) {
    assertThrows(
      () => new StatsRegistry({ maxNames }),
      RangeError,
      "Cannot create a statistics registry",
    );
  }
});

Deno.test("registry gives one object for one name", () => {
  const stats = new StatsRegistry();
  assertStrictEquals(stats.counter("a.b"), stats.counter("a.b"));
  assertStrictEquals(stats.gauge("g"), stats.gauge("g"));
  assertStrictEquals(stats.timer("t"), stats.timer("t"));
  assertStrictEquals(stats.counter("a:b"), stats.counter("a|b"));
  assertEquals(stats.size, 4);
});

Deno.test("registry.snapshot() is sorted and tells every kind", () => {
  const stats = new StatsRegistry();
  stats.gauge("b").set(-2.5);
  stats.timer("c").record(7);
  stats.counter("a").add();
  stats.counter("a").add(4);
  assertEquals(stats.snapshot(), [
    { kind: "counter", name: "a", value: 5 },
    { kind: "gauge", name: "b", value: -2.5 },
    {
      kind: "timer",
      name: "c",
      summary: {
        count: 1,
        sumMs: 7,
        maxMs: 7,
        buckets: [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      },
    },
  ]);
  stats.counter("0");
  assertEquals(stats.snapshot().map(({ name }) => name), ["0", "a", "b", "c"]);
});

Deno.test("registry.snapshot() does not change afterwards", () => {
  const stats = new StatsRegistry();
  stats.timer("t").record(1);
  const before = stats.snapshot();
  const copy = structuredClone(before);
  stats.timer("t").record(1);
  assertEquals(before, copy);
});

Deno.test("counter.add() leaves out what would not make it grow", () => {
  const stats = new StatsRegistry();
  const counter = stats.counter("c");
  for (const amount of [0, -1, NaN, -Infinity]) counter.add(amount);
  assertEquals(stats.snapshot(), [{ kind: "counter", name: "c", value: 0 }]);
});

Deno.test("counter.add() begins again when its total would be inexact", () => {
  const stats = new StatsRegistry();
  const reader = stats.openReader();
  const counter = stats.counter("c");
  counter.add(Number.MAX_SAFE_INTEGER);
  assertEquals(reader.changes().next().value?.kind, "counter");
  counter.add(3);
  assertEquals([...reader.changes()], [
    {
      kind: "counter",
      name: "c",
      origin: undefined,
      increase: 3,
      total: 3,
      index: 0,
    },
  ]);
  counter.add(Infinity);
  const [reading] = stats.snapshot();
  assert(reading?.kind === "counter");
  assertEquals(reading.value, Number.MAX_SAFE_INTEGER);
});

Deno.test("gauge.set() and timer.record() leave out what is no number", () => {
  const stats = new StatsRegistry();
  stats.gauge("g").set(4);
  stats.gauge("g").set(NaN);
  stats.timer("t").record(Infinity);
  stats.timer("t").record(-3);
  const [gauge, timer] = stats.snapshot();
  assert(gauge?.kind === "gauge" && timer?.kind === "timer");
  assertEquals(gauge.value, 4);
  assertEquals([timer.summary.count, timer.summary.sumMs], [1, 0]);
});

Deno.test("registry shares one object of a kind beyond maxNames", () => {
  const told: object[] = [];
  const stats = new StatsRegistry({
    maxNames: 2,
    onOverflow: (overflow) => told.push(overflow),
  });
  const kept = stats.counter("kept");
  stats.gauge("kept_too");
  const shared = stats.counter("new1");
  assertStrictEquals(stats.counter("new2"), shared);
  assertStrictEquals(stats.counter("ratelimit.stats.overflow"), shared);
  assertStrictEquals(stats.counter("kept"), kept);
  shared.add(3);
  stats.gauge("new3").set(1);
  stats.timer("new4").record(1);
  for (let n = 0; n < 1_000; n++) stats.counter(`more${n}`).add();
  assertEquals(stats.snapshot().map(({ name }) => name), [
    "kept",
    "kept_too",
    "ratelimit.stats.overflow",
    "ratelimit.stats.overflow_gauge",
    "ratelimit.stats.overflow_timer",
  ]);
  const overflow = stats.snapshot()[2];
  assert(overflow?.kind === "counter");
  assertEquals(overflow.value, 1_003);
  assertEquals(told, [{ reason: "full", name: "new1", kind: "counter" }]);
});

Deno.test("registry does not throw when a name has another kind", () => {
  const told: object[] = [];
  const stats = new StatsRegistry({
    onOverflow: (overflow) => told.push(overflow),
  });
  stats.counter("x").add(2);
  stats.gauge("x").set(9);
  stats.gauge("x").set(9);
  assertEquals(stats.snapshot(), [
    { kind: "gauge", name: "ratelimit.stats.overflow_gauge", value: 9 },
    { kind: "counter", name: "x", value: 2 },
  ]);
  assertEquals(told, [{ reason: "kind_taken", name: "x", kind: "gauge" }]);
});

Deno.test("StatsRegistry.absorb() adds the counters and timers of another thread, and sums gauges until it is forgotten", () => {
  const [main, other] = [new StatsRegistry(), new StatsRegistry()];
  const reader = other.openReader();
  main.counter("c").add(2);
  main.gauge("g").set(5);
  main.timer("t").record(7);
  other.counter("c").add(3);
  other.counter("path.total_hits", { segments: ["path", "total_hits"] }).add(1);
  other.gauge("g").set(4);
  other.timer("t").record(30);
  main.absorb(1, [...reader.changes()]);
  // Changes that were read are not returned again.
  main.absorb(1, [...reader.changes()]);
  other.counter("c").add(1);
  main.absorb(1, [...reader.changes()]);
  const read = () =>
    Object.fromEntries(
      main.snapshot().map((stat) => [
        stat.name,
        stat.kind === "timer"
          ? [stat.summary.count, stat.summary.sumMs, stat.summary.maxMs]
          : stat.value,
      ]),
    );
  assertEquals(read(), { c: 6, g: 9, "path.total_hits": 1, t: [2, 37, 30] });
  main.forget(1);
  assertEquals(read()["g"], 5);
});
