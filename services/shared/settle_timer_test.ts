import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { SettleTimer } from "./settle_timer.ts";

function timerWith(clock: FakeClock): { timer: SettleTimer; calls: number[] } {
  const calls: number[] = [];
  const startMs = clock.nowMs();
  const timer = new SettleTimer({
    clock,
    settleMs: 150,
    maxWaitMs: 2000,
    onSettled: () => calls.push(clock.nowMs() - startMs),
  });
  return { timer, calls };
}

Deno.test("SettleTimer calls once when a burst is over", () => {
  const clock = new FakeClock();
  const { timer, calls } = timerWith(clock);
  timer.touch();
  clock.advance(100);
  timer.touch();
  clock.advance(149);
  assertEquals(calls, []);
  clock.advance(1);
  assertEquals(calls, [250]);
  clock.advance(10_000);
  assertEquals(calls, [250]);
});

Deno.test("SettleTimer calls in the middle of a burst that does not end", () => {
  const clock = new FakeClock();
  const { timer, calls } = timerWith(clock);
  for (let time = 0; time < 5000; time += 100) {
    timer.touch();
    clock.advance(100);
  }
  // Touched at 0, 100, … the first call comes at 2000 and the burst that
  // goes on begins a new count.
  assertEquals(calls, [2000, 4000]);
});

Deno.test("SettleTimer does not wait longer when the clock is set back", () => {
  let nowMs = 1_000_000;
  const delays: number[] = [];
  const timer = new SettleTimer({
    clock: {
      nowMs: () => nowMs,
      setTimer(_callback, delayMs) {
        delays.push(delayMs);
        return { cancel: () => {} };
      },
    },
    settleMs: 150,
    maxWaitMs: 2000,
    onSettled: () => {},
  });
  timer.touch();
  nowMs = 0;
  timer.touch();
  nowMs = 9_000_000;
  timer.touch();
  assertEquals(delays, [150, 150, 0]);
});

Deno.test("SettleTimer.cancel() forgets the events", () => {
  const clock = new FakeClock();
  const { timer, calls } = timerWith(clock);
  timer.touch();
  timer.cancel();
  clock.advance(10_000);
  assertEquals(calls, []);
  assertEquals(clock.pendingTimers, 0);
});
