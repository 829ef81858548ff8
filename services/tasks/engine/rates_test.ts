import { assertEquals, assertRejects } from "@std/assert";
import type { WorkerDefinition } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import { withCommit, withReads } from "../store/wrapped_store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { nextStartMs } from "./rates.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";

type Limits = NonNullable<WorkerDefinition["limits"]>;

/** Adds a worker with limits and tasks of the group "acme". */
async function workerWith(
  world: TestEngine,
  limits: Limits,
  { name, tasks = 5 }: { readonly name: string; readonly tasks?: number },
): Promise<WorkerDefinition> {
  const worker = await world.worker({ name, concurrency: 0, limits });
  for (let count = 0; count < tasks; count++) {
    await world.task(worker, { group: "acme" });
  }
  return worker;
}

const SHARED: Limits = { groupConcurrency: 2, groupScope: "tenant" };

Deno.test("workers that share a group run as many of its tasks as the bound says, together", async () => {
  const world = await openTestEngine();
  const one = await workerWith(world, SHARED, { name: "one" });
  const two = await workerWith(world, SHARED, { name: "two" });
  const own = await workerWith(world, { groupConcurrency: 2 }, { name: "own" });
  const lease = (worker: WorkerDefinition) => world.lease(worker, { max: 5 });
  const [first, second, third] = await Promise.all([
    ...[lease(one), lease(two), lease(own)],
  ]);
  assertEquals(first!.length + second!.length, 2);
  assertEquals(third!.length, 2);
  const grouped = await world.task(one, { group: "other" });
  assertEquals((await lease(one)).map(({ task }) => task.id), [grouped.id]);

  const waiting = world.lease(two, { max: 5, waitMs: 30_000 });
  await world.complete([...first!, ...second!][0]);
  assertEquals((await waiting).length, 1);
  assertEquals(await lease(one), []);
});

Deno.test("each of the workers that share a group has its own bound on all of its tasks", async () => {
  const world = await openTestEngine();
  const wide = await workerWith(world, { ...SHARED, groupConcurrency: 4 }, {
    name: "wide",
  });
  const narrow = await workerWith(world, { ...SHARED, groupConcurrency: 1 }, {
    name: "narrow",
  });
  assertEquals((await world.lease(narrow, { max: 5 })).length, 1);
  assertEquals((await world.lease(wide, { max: 5 })).length, 3);
  assertEquals(await world.lease(narrow, { max: 5 }), []);
});

Deno.test("workers that share a group start as many of its tasks in a period as the rate says, together", async () => {
  const world = await openTestEngine();
  const rate = { count: 3, periodMs: 10_000, per: "group" } as const;
  const limits: Limits = { rate, groupScope: "tenant" };
  const one = await workerWith(world, limits, { name: "one" });
  const two = await workerWith(world, limits, { name: "two" });
  assertEquals((await world.lease(one, { max: 2 })).length, 2);
  assertEquals((await world.lease(two, { max: 5 })).length, 1);
  assertEquals(await world.lease(one, { max: 5 }), []);
  const nextMs = world.clock.nowMs() + 10_000;
  assertEquals(await nextStartMs(one, "acme", world.store), nextMs);
  assertEquals(await nextStartMs(two, "acme", world.store), nextMs);
  await world.clock.advance(10_000);
  assertEquals(await nextStartMs(one, "acme", world.store), undefined);
  assertEquals((await world.lease(two, { max: 5 })).length, 3);
});

Deno.test("a worker that shares no longer has its groups for itself", async () => {
  const world = await openTestEngine();
  const one = await workerWith(world, SHARED, { name: "one" });
  const two = await workerWith(world, SHARED, { name: "two" });
  assertEquals((await world.lease(one, { max: 5 })).length, 2);
  assertEquals(await world.lease(two, { max: 5 }), []);
  const { repositories, store } = world.parts;
  const next = { ...two, version: 2, limits: { groupConcurrency: 2 } };
  await store.commit([{ writes: [repositories.workers.update(two, next)] }]);
  assertEquals((await world.lease(next, { max: 5 })).length, 2);
  // Those of a worker that does not share are no longer counted.
  assertEquals(await world.lease(one, { max: 5 }), []);
});

/** Engines on the same data, with one clock. */
async function openEngines(): Promise<readonly [TestEngine, TestEngine]> {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const besides = createMemoryStore({ clock, besides: store });
  const one = await openTestEngine({ clock, store, seed: 1 });
  return [one, await openTestEngine({ clock, store: besides, seed: 2 })];
}

const PER_WORKER: Limits = {
  rate: { count: 3, periodMs: 10_000, per: "worker" },
};

Deno.test("instances start as many tasks of a worker in a period as its rate says, together", async () => {
  const [one, other] = await openEngines();
  const worker = await workerWith(one, PER_WORKER, { name: "w", tasks: 12 });
  const leased = await Promise.all(
    [one, other, one, other].map((each) => each.lease(worker, { max: 2 })),
  );
  assertEquals(leased.flat().length, 3);
  const nextMs = one.clock.nowMs() + 10_000;
  assertEquals(await nextStartMs(worker, "acme", other.store), nextMs);
  await one.clock.advance(9_999);
  assertEquals(await other.lease(worker, { max: 5 }), []);
  await one.clock.advance(1);
  assertEquals((await other.lease(worker, { max: 5 })).length, 3);
  assertEquals(await one.lease(worker, { max: 5 }), []);
});

Deno.test("a waiter gets a task as soon as the rate allows it, although another instance used it up", async () => {
  const [one, other] = await openEngines();
  const worker = await workerWith(one, PER_WORKER, { name: "w" });
  assertEquals((await one.lease(worker, { max: 5 })).length, 3);
  const waiting = other.lease(worker, { max: 5, waitMs: 30_000 });
  await one.clock.advance(10_000);
  const grants = await waiting;
  assertEquals(grants.length, 2);
  const startedAtMs = grants[0]?.task.startedAtMs ?? 0;
  assertEquals(startedAtMs, one.clock.nowMs());
});

Deno.test("instances start as many tasks of a group that workers share as the rate of one of them says", async () => {
  const [one, other] = await openEngines();
  const rate = { count: 3, periodMs: 10_000, per: "group" } as const;
  const strict = await workerWith(one, { rate, groupScope: "tenant" }, {
    name: "strict",
  });
  // It has no rate itself, and never asks where the other one asks.
  const free = await workerWith(one, { ...SHARED, groupConcurrency: 9 }, {
    name: "free",
  });
  assertEquals((await other.lease(free, { max: 2 })).length, 2);
  assertEquals((await one.lease(strict, { max: 5 })).length, 1);
  assertEquals((await other.lease(free, { max: 5 })).length, 3);
  assertEquals(await one.lease(strict, { max: 5 }), []);
});

Deno.test("a rate goes on over a restart", async () => {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const before = await openTestEngine({ clock, store, seed: 1 });
  const worker = await workerWith(before, PER_WORKER, { name: "w" });
  assertEquals((await before.lease(worker, { max: 2 })).length, 2);
  await clock.advance(5_000);
  const after = await openTestEngine({ clock, store, seed: 2 });
  assertEquals((await after.lease(worker, { max: 5 })).length, 1);
  await clock.advance(5_000);
  assertEquals((await after.lease(worker, { max: 5 })).length, 2);
});

Deno.test("a rate of groups holds over a restart, however many groups there are, and the one with room is found", async () => {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const rate = { count: 1, periodMs: 3_600_000, per: "group" } as const;
  const before = await openTestEngine({ clock, store, seed: 1 });
  const worker = await workerWith(before, { rate }, { name: "w", tasks: 0 });
  const groups = Array.from({ length: 700 }, (_, index) => `g${index}`);
  for (const group of groups) {
    await before.task(worker, { group });
    await before.task(worker, { group });
  }
  const startAll = async (world: TestEngine): Promise<readonly Task[]> => {
    const started: Task[] = [];
    // Those who wait are served as soon as the rounds have got to their groups.
    const leasing = world.lease(worker, { max: 100, waitMs: 60_000 });
    await clock.advance(10_000);
    await clock.advance(50_000);
    started.push(...(await leasing).map(({ task }) => task));
    return started.length === 0
      ? started
      : [...started, ...await startAll(world)];
  };
  assertEquals((await startAll(before)).length, 700);
  const after = await openTestEngine({ clock, store, seed: 2 });
  const open = await after.task(worker, { group: "zz" });
  assertEquals((await startAll(after)).map(({ id }) => id), [open.id]);
});

Deno.test("a start that was not written counts for no rate, and one whose answer was lost does", async () => {
  for (const isWritten of [false, true]) {
    let isFailing = false;
    const world = await openTestEngine({
      wrap: (store) =>
        withCommit(store, async (transactions, apply) => {
          if (!isFailing) return await apply(transactions);
          isFailing = false;
          if (isWritten) await apply(transactions);
          throw new Error("it failed");
        }),
    });
    const worker = await workerWith(world, PER_WORKER, { name: "w" });
    isFailing = true;
    await assertRejects(() => world.lease(worker, { max: 2 }));
    await world.clock.advance(2_000);
    const grants = await world.lease(worker, { max: 5 });
    assertEquals(grants.length, isWritten ? 1 : 3);
  }
});

Deno.test("claims read and write no starts where no rate is set", async () => {
  let reads = 0;
  const world = await openTestEngine({
    wrap: (store) =>
      withReads(store, {
        starts: (query) => {
          reads++;
          return store.starts(query);
        },
      }),
  });
  const limits = { groupConcurrency: 2 };
  const own = await workerWith(world, limits, { name: "own" });
  const shared = await workerWith(world, SHARED, { name: "shared" });
  assertEquals((await world.lease(own, { max: 5 })).length, 2);
  assertEquals((await world.lease(shared, { max: 5 })).length, 2);
  assertEquals(reads, 0);
  for (const workerId of [own.id, shared.id, ""]) {
    const of = { tenantId: TENANT_ID, workerId, afterNumber: 0, limit: 1 };
    assertEquals((await world.store.starts(of)).starts, []);
  }
});
