import { assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { LogSink } from "./log_sink.ts";
import { StatsRegistry } from "./registry.ts";

function setUp(write?: (line: string) => void) {
  const clock = new FakeClock();
  const registry = new StatsRegistry();
  const lines: string[] = [];
  const warnings: string[] = [];
  const logger: Logger = {
    debug() {},
    info() {},
    warn: (message) => warnings.push(message),
    error() {},
  };
  const sink = new LogSink({
    flushIntervalMs: 10_000,
    registry,
    clock,
    logger,
    write: write ?? ((line) => lines.push(line)),
  });
  const taken = () => lines.splice(0).map((line) => JSON.parse(line));
  return { clock, registry, sink, taken, warnings };
}

Deno.test("log sink writes what has changed at each flush", async () => {
  const { clock, registry, sink, taken } = setUp();
  sink.start();
  sink.start();
  registry.counter("c").add(2);
  registry.gauge("g").set(7);
  registry.timer("t").record(4);
  registry.timer("t").record(5);
  await clock.advanceAsync(9_999);
  assertEquals(taken(), []);
  await clock.advanceAsync(1);
  assertEquals(taken(), [
    { name: "c", kind: "counter", value: 2, total: 2 },
    { name: "g", kind: "gauge", value: 7 },
    {
      name: "t",
      kind: "timer",
      value: { count: 2, sumMs: 9, p50Ms: 4, p99Ms: 5, maxMs: 5 },
    },
  ]);
  await clock.advanceAsync(10_000);
  assertEquals(taken(), []);
  registry.counter("c").add();
  await clock.advanceAsync(10_000);
  assertEquals(taken(), [{ name: "c", kind: "counter", value: 1, total: 3 }]);
  sink.stop();
});

Deno.test("log sink flushes once more at stop and then not again", async () => {
  const { clock, registry, sink, taken } = setUp();
  sink.start();
  registry.counter("c").add();
  sink.stop();
  assertEquals(taken().length, 1);
  registry.counter("c").add();
  sink.stop();
  sink.flush();
  sink.start();
  await clock.advanceAsync(60_000);
  assertEquals(taken(), []);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("log sink writes tags on every line", () => {
  const lines: string[] = [];
  const { clock, registry } = setUp();
  const sink = new LogSink({
    flushIntervalMs: 1,
    registry,
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    write: (line) => lines.push(line),
    tags: { env: "prod" },
  });
  sink.start();
  registry.counter("c").add();
  sink.stop();
  assertEquals(lines, [
    '{"name":"c","kind":"counter","value":1,"total":1,"tags":{"env":"prod"}}',
  ]);
});

Deno.test("log sink warns once when it cannot write, and loses nothing", async () => {
  let broken = true;
  const lines: string[] = [];
  const { clock, registry, sink, warnings } = setUp((line) => {
    if (broken) throw new Error("broken pipe");
    lines.push(line);
  });
  sink.start();
  registry.counter("a").add(1);
  registry.counter("b").add(2);
  await clock.advanceAsync(30_000);
  assertEquals(warnings, ["Cannot write statistics: broken pipe"]);
  broken = false;
  registry.counter("a").add(4);
  await clock.advanceAsync(10_000);
  assertEquals(lines.map((line) => JSON.parse(line).value), [5, 2]);
  broken = true;
  registry.counter("a").add();
  await clock.advanceAsync(10_000);
  assertEquals(warnings.length, 2);
  broken = false;
  sink.stop();
  assertEquals(lines.length, 3);
});

Deno.test("log sink refuses an interval of nothing", () => {
  const options = {
    flushIntervalMs: 0,
    registry: new StatsRegistry(),
    clock: new FakeClock(),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    write() {},
  };
  assertThrows(() => new LogSink(options), RangeError, "Cannot repeat work");
});
