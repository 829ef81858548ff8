import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import { RateWindow, WorkerRates } from "./rates.ts";
import { openTestEngine, type TestEngine } from "./testing/test_engine.ts";
import { callbackWorker } from "./workers.ts";

function limited(per: "worker" | "group", count = 2) {
  const rate = { count, periodMs: 1_000, per };
  return { ...callbackWorker("t"), limits: { rate } };
}

Deno.test("WorkerRates bounds a worker, or each of its groups", () => {
  const all = new WorkerRates();
  const worker = limited("worker");
  assertEquals(all.room(worker, 0), 2);
  all.add("a", 0);
  all.add("b", 0);
  assertEquals(all.room(worker, 0), 0);
  assertEquals(all.nextAtMs(worker, 0), 1_000);
  assertEquals(all.groupRoom(worker, "a", 0), Infinity);
  const each = new WorkerRates();
  const grouped = limited("group");
  assertEquals(each.room(grouped, 0), Infinity);
  each.add("a", 0);
  assertEquals(each.groupRoom(grouped, "a", 0), 1);
  assertEquals(each.groupRoom(grouped, "b", 0), 2);
  assertEquals(each.nextAtMs(grouped, 0), 0);
  assertEquals(each.groupNextAtMs(grouped, "a", 0), 0);
  each.add("a", 300);
  assertEquals(each.groupNextAtMs(grouped, "a", 300), 1_000);
  assertEquals(each.groupNextAtMs(grouped, "b", 300), 300);
  assertEquals(all.groupNextAtMs(worker, "a", 0), 0);
});

Deno.test("WorkerRates counts nothing where there is no limit", () => {
  const rates = new WorkerRates();
  const worker = callbackWorker("t");
  assertEquals(rates.room(worker, 0), Infinity);
  rates.add("a", 0);
  assertEquals(rates.isIdle(0), true);
});

Deno.test("WorkerRates forgets groups rather than grow without a bound", () => {
  const rates = new WorkerRates();
  const worker = limited("group", 1);
  rates.room(worker, 0);
  for (let index = 0; index < 10_005; index++) rates.add(`g${index}`, 0);
  assertEquals(rates.groupRoom(worker, "g0", 0), 1);
  assertEquals(rates.groupRoom(worker, "g10004", 0), 0);
  assertEquals(rates.isIdle(0), false);
  assertEquals(rates.isIdle(1_000), true);
});

const BOUND = { count: 3, periodMs: 1_000 };

function add(window: RateWindow, starts: number, nowMs: number): void {
  for (let count = 0; count < starts; count++) window.add(BOUND, nowMs);
}

Deno.test("RateWindow remembers a bounded number of starts when it is never asked", () => {
  const window = new RateWindow();
  // The same holds for a worker whose groups are limited separately.
  for (let nowMs = 0; nowMs < 10_000; nowMs++) add(window, 1, nowMs);
  assert(window.size <= 2 * BOUND.count, `${window.size}`);
  assertEquals(window.room(BOUND, 9_999), 0);
  assertEquals(window.nextAtMs(BOUND, 9_999), 10_997);
  assert(window.isIdle(BOUND, 10_999));
});

Deno.test("RateWindow has room again when a start is a period old", () => {
  const window = new RateWindow();
  add(window, 1, 0);
  add(window, 2, 400);
  assertEquals(window.room(BOUND, 400), 0);
  assertEquals(window.nextAtMs(BOUND, 400), 1_000);
  assertEquals(window.room(BOUND, 999), 0);
  assertEquals(window.room(BOUND, 1_000), 1);
  assertEquals(window.nextAtMs(BOUND, 1_000), 1_000);
  assertEquals(window.room(BOUND, 1_400), 3);
  assert(window.isIdle(BOUND, 1_400));
});

Deno.test("RateWindow counts starts of the future as starts of now", () => {
  const window = new RateWindow();
  add(window, 3, 10_000);
  assertEquals(window.room(BOUND, 5_000), 0);
  assertEquals(window.nextAtMs(BOUND, 5_000), 6_000);
  assertEquals(window.room(BOUND, 6_000), 3);
});

Deno.test("RateWindow follows a bound that is changed", () => {
  const window = new RateWindow();
  add(window, 3, 0);
  assertEquals(window.room({ count: 5, periodMs: 1_000 }, 1), 2);
  assertEquals(window.room({ count: 1, periodMs: 1_000 }, 1), 0);
  assertEquals(window.nextAtMs({ count: 1, periodMs: 1_000 }, 1), 1_000);
});

Deno.test("RateWindow never lets more start in any period", () => {
  const random = new SeededRandom(7);
  const window = new RateWindow();
  const starts: number[] = [];
  for (let nowMs = 0; nowMs < 60_000; nowMs += random.below(200)) {
    const room = window.room(BOUND, nowMs);
    const begun = Math.min(room, random.below(3));
    add(window, begun, nowMs);
    for (let count = 0; count < begun; count++) starts.push(nowMs);
  }
  assert(starts.length > 150);
  for (let index = 3; index < starts.length; index++) {
    assert((starts[index] ?? 0) - (starts[index - 3] ?? 0) >= 1_000);
  }
});

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
