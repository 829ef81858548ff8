import { assertEquals } from "@std/assert";
import { steadyClock, systemClock } from "./clock.ts";

Deno.test("systemClock.setTimer() does not fire at once when the delay is longer than a timer's", async () => {
  let fired = 0;
  const timer = systemClock.setTimer(() => fired++, 2 ** 31);
  const short = Promise.withResolvers<void>();
  systemClock.setTimer(short.resolve, 20);
  await short.promise;
  timer.cancel();
  assertEquals(fired, 0);
});

Deno.test("steadyClock() goes on when the time of day is set back", () => {
  let wallMs = 1_000_000;
  let monotonicMs = 10;
  const clock = steadyClock({
    nowMs: () => wallMs,
    monotonicMs: () => monotonicMs,
    setTimer: () => ({ cancel: () => {} }),
  });
  const startMs = clock.nowMs();
  wallMs -= 500_000;
  monotonicMs += 7;
  assertEquals(clock.nowMs() - startMs, 7);
});
