import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import type { Store } from "../store/store.ts";
import { ActiveTasks, UsageCounter, usagePeriod } from "./plan_usage.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";

Deno.test("ActiveTasks.reserve() counts the store once and follows changes from then on", async () => {
  const { engine, store, clock, worker, task } = await openTestEngine();
  const { active, counts } = activeOver(engine, { store, clock });
  const mailer = await worker();
  const first = await task(mailer);
  const used = async () => {
    const reservation = await active.reserve(TENANT_ID, {
      wanted: 1,
      limit: 9,
    });
    reservation.release();
    return reservation.used;
  };
  assertEquals(await used(), 1);
  await task(mailer);
  await task(mailer);
  assertEquals(await used(), 3);
  await engine.changes.apply({
    tenantId: TENANT_ID,
    id: first.id,
    event: { kind: "cancel" },
    actor: { type: "user", id: "usr_1" },
  });
  assertEquals(await used(), 2);
  assertEquals(counts(), 1);
  await clock.advance(60_000);
  assertEquals([await used(), counts()], [2, 2]);
  await engine.stop();
});

Deno.test("ActiveTasks.reserve() never grants more than there is room for", async () => {
  const { engine, store, clock } = await openTestEngine();
  const { active } = activeOver(engine, { store, clock });
  const wish = { wanted: 3, limit: 5 };
  const reserved = await Promise.all(
    [1, 2, 3].map(() => active.reserve(TENANT_ID, wish)),
  );
  assertEquals(reserved.map(({ granted }) => granted), [3, 2, 0]);
  reserved[0]?.release();
  reserved[0]?.release();
  const next = await active.reserve(TENANT_ID, wish);
  assertEquals(next.granted, 3);
  await clock.advance(60_000);
  assertEquals((await active.reserve(TENANT_ID, wish)).granted, 0);
  await engine.stop();
});

type TestParts = Awaited<ReturnType<typeof openTestEngine>>;

function activeOver(
  engine: TestParts["engine"],
  { store, clock }: Pick<TestParts, "store" | "clock">,
) {
  let counted = 0;
  const active = new ActiveTasks({
    store: {
      counts(options) {
        counted++;
        return store.counts(options);
      },
    },
    clock,
  }, engine.changes);
  return { active, counts: () => counted };
}

function open(
  wrap: (store: Store) => Store = (store) => store,
): {
  readonly clock: SteppingClock;
  readonly store: Store;
  readonly counter: UsageCounter;
} {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const logger = new RecordingLogger();
  const counter = new UsageCounter({ store: wrap(store), clock, logger });
  return { clock, store, counter };
}

async function written(
  { store, clock }: { readonly store: Store; readonly clock: SteppingClock },
): Promise<number> {
  const period = usagePeriod(clock.nowMs());
  return (await store.usage("t", period)).executions;
}

Deno.test("usagePeriod() is the month of UTC", () => {
  assertEquals(usagePeriod(Date.UTC(2026, 0, 31, 23, 59, 59, 999)), "2026-01");
  assertEquals(usagePeriod(Date.UTC(2026, 1, 1)), "2026-02");
});

Deno.test("UsageCounter gathers for a second and counts at once", async () => {
  const world = open();
  const { counter, clock } = world;
  for (let index = 0; index < 10; index++) counter.count("t", 2);
  counter.count("u", 1);
  assertEquals(await counter.executions("t"), 20);
  assertEquals(await written(world), 0);
  await clock.advance(1_000);
  assertEquals(await written(world), 20);
  assertEquals(await counter.executions("t"), 20);
  assertEquals(await counter.executions("u"), 1);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("UsageCounter counts what is being written", async () => {
  const gate = Promise.withResolvers<void>();
  const world = open((store) =>
    interceptStore(store, {
      async commit(proceed) {
        await gate.promise;
        return await proceed();
      },
    })
  );
  world.counter.count("t", 3);
  await world.clock.advance(1_000);
  world.counter.count("t", 4);
  assertEquals(await world.counter.executions("t"), 7);
  gate.resolve();
  await world.counter.stop();
  assertEquals(await written(world), 7);
});

Deno.test("UsageCounter writes again, by itself, what the store did not take", async () => {
  let fails = true;
  const world = open((store) =>
    interceptStore(store, {
      commit: (proceed) =>
        fails ? Promise.reject(new Error("no disk")) : proceed(),
    })
  );
  world.counter.count("t", 3);
  await world.clock.advance(5_000);
  assertEquals(await world.counter.executions("t"), 3);
  fails = false;
  await world.clock.advance(1_000);
  assertEquals(await written(world), 3);
  await world.counter.stop();
  assertEquals(await written(world), 3);
});

Deno.test("UsageCounter.stop() writes what is left, and leaves no timer", async () => {
  const world = open();
  world.counter.count("t", 1);
  await world.counter.stop();
  assertEquals(await written(world), 1);
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("UsageCounter counts each attempt that is started, of its tenant", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.task(mailer);
  await world.task(mailer);
  await world.lease(mailer, { max: 2 });
  assertEquals(await world.engine.usage.executions(TENANT_ID), 2);
  assertEquals(await world.engine.usage.executions("ten_other"), 0);
  await world.engine.stop();
});
