import { assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "./fake_clock.ts";

Deno.test("FakeClock.advance() fires timers in order of time, then of setting", () => {
  const clock = new FakeClock(1000);
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name}@${clock.nowMs()}`);
  clock.setTimer(note("late"), 30);
  clock.setTimer(note("a"), 10);
  clock.setTimer(note("b"), 10);
  clock.setTimer(note("beyond"), 31);
  clock.advance(30);
  assertEquals(fired, ["a@1010", "b@1010", "late@1030"]);
  assertEquals(clock.nowMs(), 1030);
  assertEquals(clock.pendingTimers, 1);
});

Deno.test("FakeClock.advance() fires timers that timers set", () => {
  const clock = new FakeClock(0);
  const times: number[] = [];
  const tick = (): void => {
    times.push(clock.nowMs());
    clock.setTimer(tick, 10);
  };
  clock.setTimer(tick, 10);
  clock.advance(35);
  assertEquals(times, [10, 20, 30]);
});

Deno.test("FakeClock fires no cancelled timer", () => {
  const clock = new FakeClock();
  const timer = clock.setTimer(() => {
    throw new Error("fired");
  }, 5);
  timer.cancel();
  timer.cancel();
  clock.advance(10);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("FakeClock.advance() refuses to go back", () => {
  assertThrows(() => new FakeClock().advance(-1), RangeError);
});

Deno.test("FakeClock.advanceAsync() lets promises go on between timers", async () => {
  const clock = new FakeClock(0);
  const times: number[] = [];
  const wait = (ms: number) =>
    new Promise<void>((resolve) => clock.setTimer(resolve, ms));
  const loop = (async () => {
    for (let round = 0; round < 3; round++) {
      await wait(10);
      times.push(clock.nowMs());
    }
  })();
  await clock.advanceAsync(30);
  assertEquals(times, [10, 20, 30]);
  await loop;
});
