import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { StoreOutages } from "./store_outages.ts";
import { outageTally } from "./store_telemetry.ts";

Deno.test("StoreOutages tells of one outage, and of its parts, however many are out", () => {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const values = new Map<string, number>();
  const counted = (name: string) => ({
    add: () => void values.set(name, (values.get(name) ?? 0) + 1),
    set: (value: number) => void values.set(name, value),
    record() {},
  });
  const outages = new StoreOutages({
    name: "store",
    logger,
    clock,
    outageTally: outageTally(
      { counter: counted, gauge: counted, timer: counted },
      "redis_pool",
    ),
  });
  const statistics = () => [
    values.get("ratelimit.redis_pool.breakers_open"),
    values.get("ratelimit.redis_pool.outages"),
  ];
  outages.end("a");
  outages.begin("a", "refused");
  outages.begin("a", "refused again");
  clock.advance(300);
  outages.begin("b", "OOM");
  assertEquals(statistics(), [2, 1]);
  outages.end("a");
  clock.advance(200);
  outages.end("b");
  assertEquals(statistics(), [0, 1]);
  assertEquals(
    logger.lines.map(({ message, fields }) => [message, fields]),
    [
      ["store is unavailable", { reason: "refused" }],
      ["Part of store is unavailable", { part: "b", reason: "OOM" }],
      ["Part of store is available", { part: "a" }],
      ["store is available", { outageMs: 500 }],
    ],
  );
});

Deno.test("StoreOutages.refused() logs each of a few refusals once between two outages", () => {
  const logger = new RecordingLogger();
  const outages = new StoreOutages({
    name: "store",
    logger,
    clock: new FakeClock(),
  });
  for (let i = 0; i < 100; i++) outages.refused(`refusal ${i % 20}`);
  assertEquals(logger.lines.length, 5);
  outages.begin("a", "refused");
  outages.end("a");
  outages.refused("refusal 1");
  assertEquals(logger.messages.at(-1), "store refuses some commands");
});
