import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import {
  ReadinessCheck,
  type ReadinessReport,
  storeReadiness,
} from "./readiness.ts";

const READY: ReadinessReport = { store: { isReady: true } };

function checkOf(
  ask: () => Promise<ReadinessReport>,
  clock = new FakeClock(),
): ReadinessCheck {
  return new ReadinessCheck({ ask, clock, isStopping: () => false });
}

Deno.test("storeReadiness() tells callers what `describe` allows, and the log why", async () => {
  const logger = new RecordingLogger();
  const parts = {
    store: { check: () => Promise.resolve<string | undefined>("no standby") },
    instances: { mayAct: () => Promise.resolve(false) },
    logger,
  };
  const { store, instance } = await storeReadiness(parts);
  assertEquals(store, { isReady: true, detail: "no standby" });
  assertEquals(instance?.isReady, false);
  const failed = {
    ...parts,
    store: { check: () => Promise.reject(new Error("db1: refused")) },
    instances: { mayAct: () => Promise.resolve(true) },
  };
  assertEquals(await storeReadiness(failed), {
    store: { isReady: false, detail: "it cannot be read or written" },
  });
  const told = await storeReadiness({ ...failed, describe: () => "it moved" });
  assertEquals(told.store?.detail, "it moved");
  assertEquals(logger.lines[0]?.fields, { reason: "db1: refused" });
});

Deno.test("ReadinessCheck asks once for all and not again within a second", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const check = checkOf(() => {
    asked++;
    return Promise.resolve(READY);
  }, clock);
  await Promise.all([check.report(), check.report(), check.report()]);
  clock.advance(999);
  assertEquals([await check.report(), asked], [READY, 1]);
  clock.advance(1);
  assertEquals([await check.report(), asked], [READY, 2]);
  // When the clock is set back, a report must not be reused for ever.
  const early = new FakeClock(clock.nowMs() - 60_000);
  clock.nowMs = () => early.nowMs();
  assertEquals([await check.report(), asked], [READY, 3]);
});

Deno.test("ReadinessCheck is not ready when asking fails", async () => {
  const check = checkOf(() => Promise.reject(new Error("disk full")));
  assertEquals(await check.report(), {
    readiness: { isReady: false, detail: "disk full" },
  });
});

Deno.test("ReadinessCheck does not wait for ever, and asks again", async () => {
  const clock = new FakeClock();
  let answer = new Promise<ReadinessReport>(() => {});
  const check = checkOf(() => answer, clock);
  const waiting = check.report();
  await clock.advanceAsync(8_000);
  assertEquals((await waiting)["readiness"]?.isReady, false);
  answer = Promise.resolve(READY);
  clock.advance(1_000);
  assertEquals(await check.report(), READY);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("ReadinessCheck tells at once that the instance stops", async () => {
  let isStopping = false;
  const check = new ReadinessCheck({
    ask: () => Promise.resolve(READY),
    isStopping: () => isStopping,
    clock: new FakeClock(),
  });
  assertEquals(await check.answer(), {
    checks: { store: { ready: true } },
    fault: undefined,
  });
  isStopping = true;
  assertEquals(await check.answer(), {
    checks: {
      store: { ready: true },
      instance: { ready: false, detail: "it is stopping" },
    },
    fault: "Cannot serve: instance not ready",
  });
});
