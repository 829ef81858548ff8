import { assertEquals, assertStrictEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { TimerWheel } from "../timer_wheel.ts";
import { DateField, Deadline } from "./connection_context.ts";

Deno.test("DateField.at() writes the second the time is in", () => {
  const date = new DateField();
  const first = date.at(1_800_000_000_000);
  assertEquals(first, "Fri, 15 Jan 2027 08:00:00 GMT");
  assertStrictEquals(date.at(1_800_000_000_999), first);
  assertEquals(date.at(1_800_000_001_000), "Fri, 15 Jan 2027 08:00:01 GMT");
  assertEquals(date.at(1_799_999_999_000), "Fri, 15 Jan 2027 07:59:59 GMT");
});

function bench() {
  const clock = new FakeClock();
  const wheel = new TimerWheel(clock, 100);
  const passedMs: number[] = [];
  const beginMs = clock.nowMs();
  const deadline = new Deadline({
    clock,
    wheel,
    onPassed: () => passedMs.push(clock.nowMs() - beginMs),
  });
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
