import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { pause } from "./pause.ts";

Deno.test("pause() ends when its time is over", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  let isOver = false;
  const paused = pause(100, { clock, signal }).then(() => isOver = true);
  await clock.advanceAsync(99);
  assertEquals(isOver, false);
  await clock.advanceAsync(1);
  await paused;
});

Deno.test("pause() ends with the signal and leaves no timer", async () => {
  const clock = new FakeClock();
  const life = new AbortController();
  const paused = assertRejects(
    () => pause(100, { clock, signal: life.signal }),
    Error,
    "gone",
  );
  life.abort(new Error("gone"));
  await paused;
  assertEquals(clock.pendingTimers, 0);
  await assertRejects(
    () => pause(100, { clock, signal: life.signal }),
    Error,
    "gone",
  );
  assertEquals(clock.pendingTimers, 0);
});
