import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { machineClock, pause, runWithin } from "./client_clock.ts";

const LONGEST_MS = 2 ** 31 - 1;

Deno.test("machineClock waits in steps when a delay is longer than timers know", () => {
  const real = globalThis.setTimeout;
  const delays: (number | undefined)[] = [];
  let fire = (): void => {};
  let hasFired = false;
  const fake = (callback: () => void, delayMs?: number): number => {
    delays.push(delayMs);
    fire = callback;
    return 0;
  };
  Object.assign(globalThis, { setTimeout: fake });
  try {
    machineClock.setTimer(() => {
      hasFired = true;
    }, 2 * LONGEST_MS + 5);
    fire();
    fire();
    assertEquals(hasFired, false);
    fire();
  } finally {
    Object.assign(globalThis, { setTimeout: real });
  }
  assertEquals(delays, [LONGEST_MS, LONGEST_MS, 5]);
  assertEquals(hasFired, true);
});

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

function never(): Promise<never> {
  return new Promise(() => {});
}

Deno.test("runWithin() settles as the work does and leaves no timer", async () => {
  const clock = new FakeClock();
  const deadline = { clock, timeoutMs: 5, error: () => new Error("late") };
  const limits = { signals: [new AbortController().signal], deadline };
  assertEquals(await runWithin(() => Promise.resolve(7), limits), 7);
  const reason = new Error("broken");
  await assertRejects(() => runWithin(() => Promise.reject(reason), limits));
  await assertRejects(
    () =>
      runWithin(() => {
        throw reason;
      }, limits),
    Error,
    "broken",
  );
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("runWithin() ends work that does not listen when the deadline passes, and tells it", async () => {
  const clock = new FakeClock();
  const late = new Error("late");
  let seen: AbortSignal | undefined;
  const running = runWithin((signal) => {
    seen = signal;
    return never();
  }, { signals: [], deadline: { clock, timeoutMs: 5, error: () => late } });
  clock.advance(4);
  assertEquals(seen?.aborted, false);
  clock.advance(1);
  await assertRejects(() => running, Error, "late");
  assertStrictEquals(seen?.reason, late);
});

Deno.test("runWithin() sets no timer when the deadline is never", async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const running = runWithin(never, {
    signals: [controller.signal],
    deadline: { clock, timeoutMs: Infinity, error: () => new Error("late") },
  });
  assertEquals(clock.pendingTimers, 0);
  controller.abort(new Error("enough"));
  await assertRejects(() => running, Error, "enough");
});

Deno.test("runWithin() does not begin when a signal has aborted", async () => {
  let hasBegun = false;
  await assertRejects(
    () =>
      runWithin(() => {
        hasBegun = true;
        return never();
      }, { signals: [AbortSignal.abort(new Error("enough"))] }),
    Error,
    "enough",
  );
  assertEquals(hasBegun, false);
});
