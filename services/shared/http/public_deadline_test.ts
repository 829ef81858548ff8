import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { TimerWheel } from "../timer_wheel.ts";
import { PublicDeadline } from "./public_deadline.ts";

function bench() {
  const clock = new FakeClock();
  const wheel = new TimerWheel({ clock, tickMs: 100 });
  const passedMs: number[] = [];
  const beginMs = clock.nowMs();
  const deadline = new PublicDeadline({
    clock,
    wheel,
    onPassed: () => passedMs.push(clock.nowMs() - beginMs),
  });
  return { clock, deadline, passedMs };
}

Deno.test("PublicDeadline passes once, at its time or a tick later", () => {
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

Deno.test("PublicDeadline goes by what was set last, be it later or earlier", () => {
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

Deno.test("PublicDeadline never passes when it is lifted, and leaves no timer at its end", () => {
  const { clock, deadline, passedMs } = bench();
  deadline.start(1_000);
  deadline.stop();
  clock.advance(2_000);
  assertEquals([passedMs, clock.pendingTimers], [[], 0]);
  deadline.start(1_000);
  deadline.end();
  assertEquals(clock.pendingTimers, 0);
});
