import { assert, assertEquals } from "@std/assert";
import type { WorkerDefinition } from "../domain/records.ts";
import { ClockWatch, LeaseClock } from "./lease_clock.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
  type TestEngineOptions,
} from "./testing/test_engine.ts";
import type { Grant } from "./waiter.ts";

const HOUR_MS = 3_600_000;
const STEPS_MS = [HOUR_MS, -HOUR_MS, 3_000, -3_000];

/** Opens a running engine with a task that a worker leased ten seconds ago. */
async function open(
  options: TestEngineOptions = {},
): Promise<
  TestEngine & { readonly mailer: WorkerDefinition; readonly grant: Grant }
> {
  const world = await openTestEngine(options);
  const mailer = await world.worker();
  await world.engine.start();
  await world.task(mailer, { retry: null });
  const [grant] = await world.lease(mailer);
  assert(grant !== undefined);
  await world.clock.advance(10_250);
  return { ...world, mailer, grant };
}

async function beat({ say }: TestEngine, grant: Grant): Promise<void> {
  const outcome = await say(grant, (lease) => ({ kind: "heartbeat", lease }));
  assertEquals(outcome.kind, "ok");
}

Deno.test("A clock that is set takes no task from a worker that is at it", async () => {
  for (const byMs of STEPS_MS) {
    const world = await open();
    world.clock.step(byMs);
    await world.clock.advance(15_000);
    assertEquals(await world.lease(world.mailer), [], `${byMs}`);
    await beat(world, world.grant);
    await world.clock.advance(25_000);
    assertEquals(await world.lease(world.mailer), [], `${byMs}`);
    assertEquals((await world.complete(world.grant)).kind, "ok");
    const task = await world.read(world.grant.task);
    assertEquals([task.status, task.executions, task.lost], ["complete", 1, 0]);
    assertEquals(task.durationMs, 50_250);
    await world.engine.stop();
  }
});

Deno.test("A clock that is set hides no worker that died, and gives it no more time", async () => {
  for (const byMs of STEPS_MS) {
    const world = await open();
    world.clock.step(byMs);
    await world.clock.advance(19_000);
    assertEquals((await world.read(world.grant.task)).status, "running");
    await world.clock.advance(1_750);
    const task = await world.read(world.grant.task);
    assertEquals([task.status, task.lost], ["waiting", 1], `${byMs}`);
    await world.engine.stop();
  }
});

Deno.test("A clock that is set back and forward loses nothing and doubles nothing", async () => {
  for (const first of STEPS_MS) {
    const world = await open();
    const waiting = await world.task(world.mailer);
    world.clock.step(first);
    await world.clock.advance(5_000);
    const [second] = await world.lease(world.mailer);
    // A task due by the old time waits until the clock shows that time again.
    assertEquals(second === undefined, first === -HOUR_MS);
    await beat(world, world.grant);
    world.clock.step(-first);
    await world.clock.advance(20_000);
    assertEquals((await world.complete(world.grant)).kind, "ok");
    const [other = second] = await world.lease(world.mailer);
    assertEquals(other?.task.id, waiting.id);
    assertEquals((await world.complete(other)).kind, "ok");
    for (const { id } of [world.grant.task, waiting]) {
      const task = await world.read({ id });
      assertEquals([task.status, task.executions, task.lost], [
        "complete",
        1,
        0,
      ]);
    }
    await world.engine.stop();
  }
});

Deno.test("A lease that is granted after the clock was set is judged as ever", async () => {
  for (const byMs of STEPS_MS) {
    const world = await open();
    world.clock.step(byMs);
    const task = await world.task(world.mailer);
    assertEquals((await world.lease(world.mailer)).length, 1);
    await world.clock.advance(29_999);
    assertEquals((await world.read(task)).status, "running");
    await world.clock.advance(2);
    assertEquals((await world.read(task)).status, "waiting");
    await world.engine.stop();
  }
});

Deno.test("An attempt has the time that it is given, however the clock is set", async () => {
  for (const byMs of STEPS_MS) {
    const world = await open();
    world.clock.step(byMs);
    for (let leftMs = 49_500; leftMs > 0; leftMs -= 9_900) {
      await world.clock.advance(9_900);
      await beat(world, world.grant);
    }
    assertEquals((await world.read(world.grant.task)).status, "running");
    await world.clock.advance(500);
    const { status, error } = await world.read(world.grant.task);
    assertEquals([status, error?.code], ["failed", "timed_out"], `${byMs}`);
    await world.engine.stop();
  }
});

Deno.test("A call of the service has its time, however the clock is set", async () => {
  for (const byMs of STEPS_MS) {
    const world = await openTestEngine();
    await world.engine.start();
    const task = await world.task(await world.worker());
    const bootId = world.parts.instances.id;
    const start = { kind: "start", tokenHash: "", leaseMs: 30_000 } as const;
    await world.apply(task, { ...start, bootId });
    world.clock.step(byMs);
    await world.clock.advance(59_000);
    assertEquals((await world.read(task)).status, "running");
    await world.clock.advance(2_000);
    assertEquals((await world.read(task)).error?.code, "timed_out");
    await world.engine.stop();
  }
});

Deno.test("LeaseClock sets each attempt once, though the store fails on the way", async () => {
  let fails = false;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        async commit(proceed) {
          const answer = await proceed();
          // The commit is written, but the caller gets an error.
          if (fails) throw new Error("no answer");
          return answer;
        },
      }),
  });
  const before = world.grant.task.attempt;
  fails = true;
  world.clock.step(HOUR_MS);
  await world.clock.advance(3_000);
  fails = false;
  await world.clock.advance(3_000);
  const { attempt } = await world.read(world.grant.task);
  assertEquals(attempt?.startedAtMs, (before?.startedAtMs ?? 0) + HOUR_MS);
  assertEquals(attempt?.expiresAtMs, (before?.expiresAtMs ?? 0) + HOUR_MS);
  const told = world.logger.listMessages("warning");
  assertEquals(told, [
    "The clock was set; running leases keep their time",
  ]);
  await world.engine.stop();
});

Deno.test("LeaseClock says that leases are behind until they are settled", async () => {
  const world = await openTestEngine();
  const { parts, engine: { changes, liveness } } = world;
  const mailer = await world.worker();
  for (let index = 0; index < 600; index++) await world.task(mailer);
  const leases = await Promise.all(
    Array.from({ length: 6 }, () => world.lease(mailer, { max: 100 })),
  );
  const grants = leases.flat();
  assertEquals(grants.length, 600);
  const leaseClock = new LeaseClock({ parts, changes, liveness });
  assertEquals(leaseClock.isBehind(), false);
  world.clock.step(-HOUR_MS);
  assertEquals(leaseClock.isBehind(), true);
  await Promise.all([leaseClock.settle(), leaseClock.settle()]);
  assertEquals(leaseClock.isBehind(), false);
  for (const { task } of grants) {
    const { attempt } = await world.read(task);
    assertEquals(
      attempt?.deadlineMs,
      (task.attempt?.deadlineMs ?? 0) - HOUR_MS,
    );
  }
  const life = liveness.of({ tenantId: TENANT_ID, workerId: mailer.id });
  assertEquals(life?.lastSeenAtMs, world.clock.nowMs());
  const told = world.logger.lines.at(-1)?.fields ?? {};
  assertEquals([told.steps_ms, told.leases], [`${-HOUR_MS}`, 600]);
});

Deno.test("Nobody ends a lease while its time is not known", async () => {
  let meanwhile: (() => Promise<void>) | undefined;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        async scan(proceed) {
          const answer = await proceed();
          await meanwhile?.();
          return answer;
        },
      }),
  });
  // The clock is set when the reconciler has read the tasks that it will judge.
  meanwhile = () => {
    meanwhile = undefined;
    world.clock.step(HOUR_MS);
    return Promise.resolve();
  };
  assertEquals((await world.engine.reconciler.runOnce()).repaired, 0);
  await world.clock.advance(2_000);
  assertEquals((await world.complete(world.grant)).kind, "ok");
  await world.engine.stop();
});

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
    // The process stands still for a minute before it reads the time of day.
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
