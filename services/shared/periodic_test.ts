import { assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { BackgroundWork, pause, Periodic } from "./periodic.ts";

/** Work whose runs end when the test says so. */
function openWork(
  options: Partial<ConstructorParameters<typeof Periodic>[0]> = {},
) {
  const clock = new FakeClock();
  const runs: PromiseWithResolvers<void>[] = [];
  const errors: unknown[] = [];
  const signals: AbortSignal[] = [];
  const periodic = new Periodic({
    clock,
    run: (signal) => {
      const run = Promise.withResolvers<void>();
      runs.push(run);
      signals.push(signal);
      return run.promise;
    },
    onError: (error) => errors.push(error),
    ...options,
  });
  return { clock, runs, errors, signals, periodic };
}

Deno.test("Periodic runs after each interval, and not before it was started", async () => {
  const { clock, runs, periodic } = openWork({ intervalMs: 100 });
  periodic.wake();
  await clock.advanceAsync(1_000);
  assertEquals(runs.length, 0);
  periodic.start();
  periodic.start();
  await clock.advanceAsync(99);
  assertEquals(runs.length, 0);
  await clock.advanceAsync(1);
  assertEquals(runs.length, 1);
  runs[0]?.resolve();
  await clock.advanceAsync(100);
  assertEquals(runs.length, 2);
  runs[1]?.resolve();
  await periodic.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Periodic skips the intervals that end during a run", async () => {
  const { clock, runs, periodic } = openWork({ intervalMs: 100 });
  periodic.start();
  await clock.advanceAsync(350);
  assertEquals(runs.length, 1);
  runs[0]?.resolve();
  await clock.advanceAsync(49);
  assertEquals(runs.length, 1);
  await clock.advanceAsync(1);
  assertEquals(runs.length, 2);
  runs[1]?.resolve();
  await periodic.stop();
});

Deno.test("Periodic.wake() runs at once, and once more when a run is under way", async () => {
  const { clock, runs, periodic } = openWork();
  periodic.start();
  periodic.wake();
  assertEquals(runs.length, 1);
  periodic.wake();
  periodic.wake();
  await clock.advanceAsync(1_000);
  assertEquals(runs.length, 1);
  runs[0]?.resolve();
  await clock.advanceAsync(0);
  assertEquals(runs.length, 2);
  runs[1]?.resolve();
  await clock.advanceAsync(1_000);
  assertEquals(runs.length, 2);
  periodic.wake();
  assertEquals(runs.length, 3);
  runs[2]?.resolve();
  await periodic.stop();
});

Deno.test("Periodic.wakeIn() keeps the earliest of the times it was given", async () => {
  const { clock, runs, periodic } = openWork();
  periodic.start();
  periodic.wakeIn(100);
  periodic.wakeIn(300);
  periodic.wakeIn(50);
  assertEquals(clock.pendingTimers, 1);
  await clock.advanceAsync(50);
  assertEquals(runs.length, 1);
  periodic.wakeIn(20);
  await clock.advanceAsync(1_000);
  assertEquals(runs.length, 1);
  runs[0]?.resolve();
  await clock.advanceAsync(0);
  assertEquals(runs.length, 2);
  runs[1]?.resolve();
  await periodic.stop();
});

Deno.test("Periodic.wakeIn() measures durations, whatever the time of day is set to", async () => {
  const clock = new FakeClock();
  let setByMs = 0;
  let runs = 0;
  const periodic = new Periodic({
    clock: {
      nowMs: () => clock.nowMs() + setByMs,
      monotonicMs: () => clock.nowMs(),
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    },
    run: () => runs++,
    onError: () => {},
  });
  periodic.start();
  periodic.wakeIn(100);
  setByMs = -3_600_000;
  periodic.wakeIn(200);
  await clock.advanceAsync(100);
  assertEquals([runs, clock.pendingTimers], [1, 0]);
  await periodic.stop();
});

Deno.test("Periodic.runOnce() waits for the end, also of the run under way", async () => {
  const { clock, runs, periodic } = openWork();
  periodic.start();
  let ended = 0;
  const first = periodic.runOnce().then(() => ended++);
  const second = periodic.runOnce().then(() => ended++);
  runs[0]?.resolve();
  await clock.advanceAsync(0);
  assertEquals([runs.length, ended], [2, 0]);
  runs[1]?.resolve();
  await Promise.all([first, second]);
  await periodic.stop();
});

Deno.test("Periodic.stop() aborts the signal and waits for the run under way, which is the last", async () => {
  const { clock, runs, signals, periodic } = openWork({ intervalMs: 100 });
  periodic.start();
  periodic.wake();
  periodic.wake();
  let isStopped = false;
  const stopping = periodic.stop().then(() => isStopped = true);
  assertEquals(signals[0]?.aborted, true);
  await clock.advanceAsync(1_000);
  assertEquals(isStopped, false);
  runs[0]?.resolve();
  await stopping;
  periodic.wake();
  periodic.wakeIn(0);
  periodic.start();
  await clock.advanceAsync(1_000);
  assertEquals([runs.length, clock.pendingTimers], [1, 0]);
});

Deno.test("Periodic reports what a run throws, and keeps its interval", async () => {
  let runs = 0;
  const { clock, errors, periodic } = openWork({
    intervalMs: 100,
    run: () => {
      throw new Error(`run ${++runs}`);
    },
  });
  periodic.start();
  await clock.advanceAsync(250);
  assertEquals(errors.map(String), ["Error: run 1", "Error: run 2"]);
  await periodic.stop();
});

Deno.test("Periodic waits longer after each failure in a row, in place of the interval", async () => {
  const clock = new FakeClock();
  const beginMs = clock.nowMs();
  const runsAtMs: number[] = [];
  const periodic = new Periodic({
    clock,
    intervalMs: 1_000,
    retry: { firstMs: 2_100, maxMs: 5_000 },
    run: () => {
      runsAtMs.push(clock.nowMs() - beginMs);
      if (runsAtMs.length <= 3) throw new Error("away");
    },
    onError: () => {},
  });
  periodic.start();
  await clock.advanceAsync(14_500);
  assertEquals(runsAtMs, [1_000, 3_100, 7_300, 12_300, 13_000, 14_000]);
  await periodic.stop();
});

Deno.test("Periodic waits after a failure also when it was woken during the run", async () => {
  const clock = new FakeClock();
  let runs = 0;
  const periodic: Periodic = new Periodic({
    clock,
    retry: { firstMs: 1_000, maxMs: 1_000 },
    run: () => {
      runs++;
      periodic.wake();
      if (runs === 1) throw new Error("away");
      void periodic.stop();
    },
    onError: () => {},
  });
  periodic.start();
  await periodic.runOnce();
  assertEquals([runs, periodic.isRunning], [1, false]);
  await clock.advanceAsync(999);
  assertEquals(runs, 1);
  await clock.advanceAsync(1);
  assertEquals([runs, periodic.isRunning], [2, false]);
});

Deno.test("Periodic lengthens intervals by a random share", async () => {
  const shares = [0, 0.5, 0.9];
  const { clock, runs, periodic } = openWork({
    intervalMs: 1_000,
    jitter: { share: 0.1, random: () => shares.shift() ?? 0 },
    run: () => runs.push(Promise.withResolvers()),
  });
  periodic.start();
  await clock.advanceAsync(2_049);
  assertEquals(runs.length, 1);
  await clock.advanceAsync(1);
  assertEquals(runs.length, 2);
  await clock.advanceAsync(1_090);
  assertEquals(runs.length, 3);
  await periodic.stop();
});

Deno.test("Periodic refuses an interval that is not above 0", () => {
  for (const intervalMs of [0, -1, NaN]) {
    assertThrows(
      () => openWork({ intervalMs }),
      RangeError,
      "Cannot repeat work",
    );
  }
});

Deno.test("BackgroundWork.settled() waits for all work, and errors are reported", async () => {
  const errors: unknown[] = [];
  const work = new BackgroundWork((error) => errors.push(error));
  const first = Promise.withResolvers<void>();
  let isSettled = false;
  work.run(async () => {
    await first.promise;
    work.run(() => Promise.reject(new Error("second")));
  });
  const settled = work.settled().then(() => isSettled = true);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(isSettled, false);
  first.resolve();
  await settled;
  assertEquals(errors.map(String), ["Error: second"]);
  await work.settled();
});

Deno.test("pause() ends after its time or by the signal, and leaves no timer behind", async () => {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const { signal } = stopping;
  let ended = 0;
  void pause(100, { clock, signal }).then(() => ended++);
  await clock.advanceAsync(100);
  assertEquals(ended, 1);
  const waiting = pause(100, { clock, signal });
  stopping.abort();
  await waiting;
  await pause(100, { clock, signal });
  assertEquals(clock.pendingTimers, 0);
});
