import { assert, assertEquals } from "@std/assert";
import type { WorkerDefinition } from "../domain/records.ts";
import { openTestEngine, type TestEngine } from "./testing/test_engine.ts";
import { RateWindow } from "./rates.ts";

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
  const { claims } = world.engine;
  const nextMs = world.clock.nowMs() + 10_000;
  assertEquals(claims.nextStartMs(one, "acme"), nextMs);
  assertEquals(claims.nextStartMs(two, "acme"), nextMs);
  await world.clock.advance(10_000);
  assertEquals(claims.nextStartMs(one, "acme"), undefined);
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

Deno.test("RateWindow counts by each of several bounds, if it remembers enough", () => {
  const widest = { count: 4, periodMs: 10_000 };
  const short = { count: 2, periodMs: 1_000 };
  const window = new RateWindow();
  for (const atMs of [0, 500, 5_000, 5_900]) window.add(widest, atMs);
  assertEquals(window.room(short, 6_000, widest), 1);
  assertEquals(window.room(widest, 6_000), 0);
  assertEquals(window.nextAtMs(widest, 6_000), 10_000);
  window.add(widest, 5_950);
  assertEquals(window.nextAtMs(short, 6_000, widest), 6_900);
  assert(window.size >= widest.count);
});
