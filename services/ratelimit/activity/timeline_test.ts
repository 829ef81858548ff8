import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { Timeline } from "./timeline.ts";

function world() {
  const clock = new FakeClock(1_000);
  const timeline = new Timeline(clock);
  const log = new RecordingLogger();
  return { clock, timeline, log, store: timeline.watch(log, "store") };
}

Deno.test("Timeline keeps what is logged but debug lines, the last first, and hands it on", () => {
  const { clock, timeline, log, store } = world();
  store.warn("redis is unavailable", { reason: "refused", none: undefined });
  clock.advance(500);
  timeline.watch(log, "rules").error("Cannot load a.yaml:3");
  store.debug("nothing");
  assertEquals(timeline.list(), [
    {
      ...{ number: 2, timeMs: 1_500, area: "rules", level: "error", times: 1 },
      text: "Cannot load a.yaml:3",
      fields: {},
    },
    {
      ...{ number: 1, timeMs: 1_000, area: "store", level: "warning" },
      text: "redis is unavailable",
      fields: { reason: "refused" },
      times: 1,
    },
  ]);
  assertEquals(log.lines.map(({ level }) => level), [
    "warning",
    "error",
    "debug",
  ]);
});

Deno.test("Timeline counts faults that happen several times in a row once, with its last time", () => {
  const { clock, timeline, store } = world();
  store.warn("again", { n: 1 });
  clock.advance(9);
  store.warn("again", { n: 1 });
  store.info("again", { n: 1 });
  store.info("again", { n: 1 });
  assertEquals(
    timeline.list().map(({ timeMs, times }) => [timeMs, times]),
    [[1_009, 1], [1_009, 1], [1_009, 2]],
  );
});

Deno.test("Timeline keeps the last five hundred events, with bounded texts and fields", () => {
  const { timeline, store } = world();
  const fields = Object.fromEntries(
    Array.from(
      { length: 30 },
      (_, index) => [`field ${index}`, "x".repeat(9_999)],
    ),
  );
  for (let event = 0; event < 600; event++) {
    store.info(`${event} ${"y".repeat(9_999)}`, fields);
  }
  const events = timeline.list();
  assertEquals([events.length, events.at(-1)!.number], [500, 101]);
  assertEquals(events[0]!.text.length, 2_001);
  assertEquals(
    Object.values(events[0]!.fields).map(({ length }) => length),
    new Array(10).fill(2_001),
  );
});
