import { assertEquals } from "@std/assert";
import { ClockWatch } from "./clock_watch.ts";
import { SteppingClock } from "./testing/stepping_clock.ts";

Deno.test("ClockWatch notices that the time of day was set, once", async () => {
  const clock = new SteppingClock(1_000_000);
  const watch = new ClockWatch(clock);
  await clock.advance(900);
  assertEquals(watch.look(), []);
  clock.step(-50_000);
  await clock.advance(100);
  const steps = watch.look();
  assertEquals(steps, [
    { byMs: -50_000, lastReadMs: 1_000_900, noticedAtMs: 951_000 },
  ]);
  await clock.advance(5_000);
  assertEquals(watch.look(), steps);
  assertEquals(watch.take(), steps);
  assertEquals(watch.look(), []);
});

Deno.test("ClockWatch lets small corrections pass", async () => {
  const clock = new SteppingClock();
  const watch = new ClockWatch(clock);
  for (const ms of [999, -999, 500]) {
    clock.step(ms);
    await clock.advance(1_000);
    assertEquals(watch.look(), []);
  }
});

Deno.test("ClockWatch keeps a bounded number of steps, and their sum", async () => {
  const clock = new SteppingClock();
  const watch = new ClockWatch(clock);
  for (let count = 0; count < 100; count++) {
    clock.step(2_000);
    await clock.advance(1_000);
    watch.look();
  }
  const steps = watch.look();
  assertEquals(steps.length, 8);
  assertEquals(steps.reduce((sum, { byMs }) => sum + byMs, 0), 200_000);
});

Deno.test("ClockWatch takes a process that is held up between its readings for no step", () => {
  const readings = [0, 0, 60_000, 60_000, 60_001];
  let nowMs = 0;
  const clock = {
    // The process stops for a minute before the clock of the day is read.
    nowMs: () => nowMs,
    monotonicMs: () => nowMs = readings.shift() ?? nowMs,
    setTimer: () => ({ cancel: () => {} }),
  };
  const watch = new ClockWatch(clock);
  assertEquals(watch.look(), []);
});

Deno.test("ClockWatch notices nothing without a clock that only goes on", () => {
  let nowMs = 0;
  const watch = new ClockWatch({
    nowMs: () => nowMs,
    setTimer: () => ({ cancel: () => {} }),
  });
  nowMs = 3_600_000;
  assertEquals(watch.look(), []);
});
