import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { ReplyWatch } from "./reply_watch.ts";
import { LateClock } from "./testing/late_clock.ts";

Deno.test("ReplyWatch calls back at the earliest deadline, and at the next one it is given", () => {
  const clock = new FakeClock();
  const beganMs = clock.nowMs();
  const calls: number[] = [];
  const watch: ReplyWatch = new ReplyWatch({
    clock,
    onDue: () => {
      calls.push(clock.nowMs() - beganMs);
      if (calls.length === 1) watch.at(beganMs + 700);
    },
  });
  for (const afterMs of [500, 300, 400]) watch.at(beganMs + afterMs);
  clock.advance(2_000);
  assertEquals(calls, [300, 700]);
  watch.at(clock.nowMs() + 100);
  watch.stop();
  assertEquals(clock.pendingTimers, 0);
  clock.advance(2_000);
  assertEquals(calls, [300, 700]);
});

Deno.test("ReplyWatch lets the event loop read first when its timer fires late", () => {
  const clock = new LateClock();
  let calls = 0;
  const watch = new ReplyWatch({ clock, onDue: () => calls++ });
  watch.at(clock.nowMs() + 100);
  clock.standStill(300);
  // Late again and again, it waits for no more than a few turns.
  for (const expected of [0, 0, 0, 1]) {
    clock.turn();
    assertEquals(calls, expected);
    clock.standStill(50);
  }
  // A turn that is in time ends the wait; timers are never exact.
  watch.at(clock.nowMs() + 100);
  clock.standStill(101);
  clock.turn();
  clock.standStill(2.5);
  clock.turn();
  assertEquals(calls, 2);
});

Deno.test("ReplyWatch.stop() ends also the looks after a late timer", () => {
  const clock = new LateClock();
  let calls = 0;
  const watch = new ReplyWatch({ clock, onDue: () => calls++ });
  watch.at(clock.nowMs() + 100);
  clock.standStill(300);
  clock.turn();
  watch.stop();
  clock.standStill(50);
  clock.turn();
  assertEquals(calls, 0);
});
