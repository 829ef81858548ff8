import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import type { ReadinessReport } from "./readiness_check.ts";
import { ReadinessCheck } from "./readiness_check.ts";

const READY: ReadinessReport = { store: { isReady: true } };

Deno.test("ReadinessCheck asks once for all and not again within a second", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const check = new ReadinessCheck({
    clock,
    ask: () => {
      asked++;
      return Promise.resolve(READY);
    },
  });
  await Promise.all([check.report(), check.report(), check.report()]);
  clock.advance(999);
  assertEquals([await check.report(), asked], [READY, 1]);
  clock.advance(1);
  assertEquals([await check.report(), asked], [READY, 2]);
  // A clock that goes back makes no answer last for ever.
  const early = new FakeClock(clock.nowMs() - 60_000);
  clock.nowMs = () => early.nowMs();
  assertEquals([await check.report(), asked], [READY, 3]);
});

Deno.test("ReadinessCheck is not ready when asking fails", async () => {
  const check = new ReadinessCheck({
    clock: new FakeClock(),
    ask: () => Promise.reject(new Error("disk full")),
  });
  assertEquals(await check.report(), {
    readiness: { isReady: false, detail: "disk full" },
  });
});

Deno.test("ReadinessCheck does not wait for ever, and asks again", async () => {
  const clock = new FakeClock();
  let answer = new Promise<ReadinessReport>(() => {});
  const check = new ReadinessCheck({ clock, ask: () => answer });
  const waiting = check.report();
  await clock.advanceAsync(8_000);
  assertEquals((await waiting)["readiness"]?.isReady, false);
  answer = Promise.resolve(READY);
  clock.advance(1_000);
  assertEquals(await check.report(), READY);
  assertEquals(clock.pendingTimers, 0);
});
