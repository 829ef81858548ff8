import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  computeSilence,
  redialDelayMs,
  type WaitingCall,
  WaitingCalls,
} from "./server_outage.ts";

Deno.test("WaitingCalls fails each call at its own deadline, whatever came before it", async () => {
  const clock = new FakeClock();
  const calls = new WaitingCalls<WaitingCall>({ timeoutMs: 1_000, clock });
  const failed: string[] = [];
  const beganMs = clock.nowMs();
  for (const waitMs of [1_000, 300, 600, 300]) {
    calls.add({
      deadlineMs: beganMs + waitMs,
      fail: () => failed.push(`${waitMs} at ${clock.nowMs() - beganMs}`),
    });
  }
  await clock.advanceAsync(300);
  assertEquals(failed, ["300 at 300", "300 at 300"]);
  await clock.advanceAsync(300);
  assertEquals(failed.at(-1), "600 at 600");
  assertEquals(calls.take().length, 1);
  assertEquals(clock.pendingTimers, 0);
  // A queue that was emptied watches the next call, too.
  calls.add({
    deadlineMs: clock.nowMs() + 50,
    fail: () => failed.push("last"),
  });
  await clock.advanceAsync(50);
  assertEquals(failed.at(-1), "last");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("WaitingCalls lets no call wait when calls have waited for a second and a half", async () => {
  const clock = new FakeClock();
  const calls = new WaitingCalls<WaitingCall>({ timeoutMs: 60_000, clock });
  const failed: string[] = [];
  const add = (name: string): void =>
    calls.add({
      deadlineMs: clock.nowMs() + 60_000,
      fail: (reason) => failed.push(`${name}: ${reason}`),
    });
  add("first");
  await clock.advanceAsync(1_400);
  add("second");
  assertEquals(failed, []);
  await clock.advanceAsync(100);
  assertEquals(failed.splice(0).map((text) => text.split(":")[0]), [
    "first",
    "second",
  ]);
  add("third");
  assertEquals(failed.splice(0), ["third: no connection within 1500 ms"]);
  // A new connection begins anew.
  assertEquals(calls.take(), []);
  add("fourth");
  assertEquals(failed, []);
  calls.failAll("stopped");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("computeSilence() is the time limit of calls, and a second and a half at most", () => {
  assertEquals(computeSilence({ timeoutMs: 400 }), {
    limitMs: 400,
    doubtMs: 100,
    probeMs: 300,
  });
  assertEquals(computeSilence({ timeoutMs: 60_000 }).limitMs, 1_500);
  // A call and a probe may wait for their write.
  assertEquals(
    computeSilence({ timeoutMs: 1_000, pipelineWindowMs: 3_600_000 }),
    {
      limitMs: 1_000,
      doubtMs: 375,
      probeMs: 625,
    },
  );
});

Deno.test("redialDelayMs() doubles up to two seconds", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8, 2_000].map((failures) =>
    redialDelayMs(failures, () => 0)
  );
  assertEquals(delays, [25, 50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

Deno.test("redialDelayMs() leaves out a random part of at most a half", () => {
  for (const share of [0, 0.25, 0.999]) {
    const delay = redialDelayMs(7, () => share);
    assert(delay >= 1_000 && delay < 2_000);
    assertEquals(delay, 1_000 + share * 1_000);
  }
});
