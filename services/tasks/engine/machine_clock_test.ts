import { assertEquals } from "@std/assert";
import type { Timer } from "../../shared/clock.ts";
import { countedTimers, MachineClock } from "./testing/machine_clock.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";

Deno.test("MachineClock fires what became due during a stall after it, unless that is cancelled", async () => {
  const time = new SteppingClock();
  const machine = new MachineClock(time);
  const fired: string[] = [];
  const note = (name: string) => (): void => {
    fired.push(`${name} ${time.elapsedMs}`);
  };
  machine.setTimer(note("before"), 50);
  machine.setTimer(note("second"), 700);
  machine.setTimer(note("first"), 300);
  const cancelled = machine.setTimer(note("cancelled"), 400);
  machine.setTimer(note("after"), 1_500);
  await time.advance(100);
  machine.stall(900);
  let isAwake = false;
  void machine.awake().then(() => isAwake = true);
  await time.advance(800);
  assertEquals([fired, isAwake], [["before 50"], false]);
  cancelled.cancel();
  await time.advance(1_000);
  assertEquals([fired, isAwake], [
    ["before 50", "first 1000", "second 1000", "after 1500"],
    true,
  ]);
  assertEquals(machine.wokeAtMs, 1_000);
});

Deno.test("MachineClock is ahead of the real time, and its timers are not when it is set", async () => {
  const time = new SteppingClock();
  const machine = new MachineClock(time, 30_000);
  const timers = new Set<Timer>();
  const clock = countedTimers(machine, timers);
  let fired = 0;
  clock.setTimer(() => fired++, 1_000);
  assertEquals([clock.nowMs() - time.nowMs(), timers.size], [30_000, 1]);
  machine.step(-90_000);
  assertEquals(clock.nowMs() - time.nowMs(), -60_000);
  await time.advance(999);
  assertEquals([fired, timers.size], [0, 1]);
  await time.advance(1);
  assertEquals([fired, timers.size], [1, 0]);
});
