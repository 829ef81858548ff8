import { assertEquals, assertStrictEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { Clock } from "../clock.ts";
import { ByteBudget } from "../connection_memory.ts";
import { ConnectionContext } from "./connection_context.ts";
import { DEFAULT_LIMITS } from "./settings.ts";

function contextAt(nowMs: () => number, clock = new FakeClock()) {
  return contextOn({ nowMs, setTimer: clock.setTimer.bind(clock) });
}

function contextOn(clock: Clock) {
  return new ConnectionContext({
    handler: () => ({ status: 200, headers: {} }),
    logger: new RecordingLogger(),
    limits: DEFAULT_LIMITS,
    budget: new ByteBudget(0),
    clock,
  });
}

Deno.test("ConnectionContext.date() writes the second the time is in", () => {
  let nowMs = 1_800_000_000_000;
  const context = contextAt(() => nowMs);
  const first = context.date();
  assertEquals(first, "Fri, 15 Jan 2027 08:00:00 GMT");
  nowMs += 999;
  assertStrictEquals(context.date(), first);
  nowMs += 1;
  assertEquals(context.date(), "Fri, 15 Jan 2027 08:00:01 GMT");
  nowMs -= 2_000;
  assertEquals(context.date(), "Fri, 15 Jan 2027 07:59:59 GMT");
});

function bench() {
  const clock = new FakeClock();
  const passedMs: number[] = [];
  const beginMs = clock.nowMs();
  const context = contextAt(() => clock.nowMs(), clock);
  const deadline = context.deadline(() =>
    passedMs.push(clock.nowMs() - beginMs)
  );
  return { clock, deadline, passedMs };
}

Deno.test("Deadline passes once, at its time or a tick later", () => {
  const { clock, deadline, passedMs } = bench();
  deadline.start(1_000);
  clock.advance(999);
  assertEquals(passedMs, []);
  clock.advance(101);
  assertEquals(passedMs.length, 1);
  clock.advance(10_000);
  assertEquals(passedMs.length, 1);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Deadline passes at its time whatever the time of day is set to", () => {
  for (const setByMs of [-3_600_000, 3_600_000]) {
    const clock = new FakeClock();
    let offsetMs = 0;
    const context = contextOn({
      nowMs: () => clock.nowMs() + offsetMs,
      monotonicMs: () => clock.nowMs(),
      setTimer: clock.setTimer.bind(clock),
    });
    const passed: string[] = [];
    context.deadline(() => passed.push("short")).start(1_000);
    context.deadline(() => passed.push("long")).start(5_000);
    offsetMs = setByMs;
    clock.advance(999);
    assertEquals([setByMs, passed], [setByMs, []]);
    clock.advance(101);
    assertEquals([setByMs, passed], [setByMs, ["short"]]);
    clock.advance(4_000);
    assertEquals([setByMs, passed], [setByMs, ["short", "long"]]);
    const date = new Date(clock.nowMs() + setByMs).toUTCString();
    assertEquals(context.date(), date);
  }
});

Deno.test("Deadline goes by what was set last, be it later or earlier", () => {
  for (const [first, last] of [[1_000, 5_000], [5_000, 1_000]] as const) {
    const { clock, deadline, passedMs } = bench();
    deadline.start(first);
    deadline.stop();
    deadline.start(last);
    clock.advance(last - 1);
    assertEquals(passedMs, []);
    clock.advance(101);
    assertEquals(passedMs.length, 1);
  }
});

Deno.test("Deadline never passes when it is lifted, and leaves no timer at its end", () => {
  const { clock, deadline, passedMs } = bench();
  deadline.start(1_000);
  deadline.stop();
  clock.advance(2_000);
  assertEquals([passedMs, clock.pendingTimers], [[], 0]);
  deadline.start(1_000);
  deadline.end();
  assertEquals(clock.pendingTimers, 0);
});
