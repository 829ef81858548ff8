import { assert, assertEquals } from "@std/assert";
import type { Task } from "../domain/task.ts";
import { StoreBusyError } from "../store/store.ts";
import { withCommit } from "../store/wrapped_store.ts";
import {
  creation,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../store/testing/sample_tasks.ts";
import { Dependents } from "./dependents.ts";
import { DueClock } from "./due_clock.ts";
import { LeaseClock } from "./lease_clock.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import {
  openTestEngine,
  type TestEngine,
  type TestEngineOptions,
} from "./testing/test_engine.ts";

const HOUR_MS = 3_600_000;

/**
 * Opens a due clock alone, with tasks and the times at which they became due.
 */
async function open(
  options: TestEngineOptions = {},
): Promise<
  TestEngine & {
    readonly due: DueClock;
    readonly dueAtMs: Map<string, number>;
    at(delayMs: number, patch?: Partial<Task>): Promise<Task>;
  }
> {
  const world = await openTestEngine(options);
  const mailer = await world.worker();
  const { parts, engine: { changes, liveness } } = world;
  const leaseClock = new LeaseClock({ parts, changes, liveness });
  const dependents = new Dependents(parts, changes);
  const due = new DueClock({ parts, changes, dependents, leaseClock });
  const dueAtMs = new Map<string, number>();
  const startMs = world.clock.nowMs();
  world.engine.changes.onChange(({ next }) => {
    if (next?.status !== "waiting") return;
    dueAtMs.set(next.id, world.clock.nowMs() - startMs);
  });
  return {
    ...world,
    due,
    dueAtMs,
    at: (delayMs, patch) =>
      world.task(mailer, { dateMs: startMs + delayMs, ...patch }),
  };
}

Deno.test("DueClock makes a task due at its date, to the millisecond", async () => {
  const world = await open();
  world.due.start();
  const tasks = [];
  for (const delayMs of [5_000, 1, 999, 3_600_001]) {
    tasks.push([delayMs, await world.at(delayMs)] as const);
  }
  await world.clock.advance(HOUR_MS + 10);
  for (const [delayMs, { id }] of tasks) {
    assertEquals(world.dueAtMs.get(id), delayMs);
  }
  await world.due.stop();
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("DueClock looks earlier when a task comes that is due before", async () => {
  const world = await open();
  world.due.start();
  await world.at(900);
  await world.clock.advance(100);
  const sooner = await world.at(300);
  await world.clock.advance(500);
  assertEquals(world.dueAtMs.get(sooner.id), 300);
  await world.due.stop();
});

Deno.test("DueClock is not late for a task that comes while it asks what is next", async () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const world: Awaited<ReturnType<typeof open>> = await open({
    wrap: (store) =>
      interceptStore(store, {
        async nextWakeMs(proceed) {
          const answer = await proceed();
          await meanwhile?.();
          meanwhile = undefined;
          return answer;
        },
      }),
  });
  let task: Task | undefined;
  await world.at(60_000);
  meanwhile = async () => task = await world.at(200);
  world.due.start();
  await world.clock.advance(1_000);
  assertEquals(world.dueAtMs.get(task?.id ?? ""), 200);
  await world.due.stop();
});

Deno.test("DueClock finds what somebody else has written, within a second", async () => {
  const world = await open();
  world.due.start();
  await world.clock.advance(500);
  const { store, clock } = world;
  const other = await openTestEngine({ store, clock, seed: 2 });
  const mailer = await other.worker({ name: "other" });
  const task = await other.task(mailer, { dateMs: clock.nowMs() + 10 });
  await clock.advance(1_000);
  assert((world.dueAtMs.get(task.id) ?? Infinity) <= 1_500);
  await world.due.stop();
});

Deno.test("DueClock keeps up when the time of day is set forward or back", async () => {
  const world = await open();
  world.due.start();
  const later = await world.at(HOUR_MS);
  const soon = await world.at(2_000);
  await world.clock.advance(1_000);
  world.clock.step(HOUR_MS);
  await world.clock.advance(1_000);
  assert(world.dueAtMs.has(later.id));
  assert(world.dueAtMs.has(soon.id));
  world.clock.step(-HOUR_MS);
  const next = await world.at(2_500);
  await world.clock.advance(400);
  assertEquals(world.dueAtMs.has(next.id), false);
  await world.clock.advance(200);
  assertEquals(world.dueAtMs.get(next.id), 2_500);
  await world.due.stop();
});

Deno.test("DueClock goes on by itself after the store has failed", async () => {
  let fails = true;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        waking: (proceed) =>
          fails ? Promise.reject(new Error("no disk")) : proceed(),
      }),
  });
  world.due.start();
  const task = await world.at(100);
  await world.clock.advance(5_000);
  assertEquals(world.dueAtMs.size, 0);
  fails = false;
  await world.clock.advance(1_000);
  assert(world.dueAtMs.has(task.id));
  assert(world.logger.listMessages("error").length <= 7);
  await world.due.stop();
});

Deno.test("DueClock expires, times out and removes when that is due", async () => {
  const world = await open({ limits: { retentionMs: 60_000 } });
  world.due.start();
  const nowMs = world.clock.nowMs();
  const expiring = await world.at(10_000, { expiresAtMs: nowMs + 5_000 });
  await world.clock.advance(4_999);
  assertEquals((await world.read(expiring)).status, "scheduled");
  await world.clock.advance(1);
  assertEquals((await world.read(expiring)).status, "expired");
  await world.clock.advance(59_999);
  assertEquals((await world.read(expiring)).status, "expired");
  await world.clock.advance(1);
  assertEquals(await world.store.task("ten_test", expiring.id), undefined);
  await world.due.stop();
});

Deno.test("DueClock keeps a result that others wait for, and removes what has failed", async () => {
  const world = await open({ limits: { retentionMs: 60_000 } });
  const maker = await world.worker({ name: "maker" });
  const needed = await world.task(maker);
  await world.complete((await world.lease(maker))[0]);
  const other = await world.task(maker);
  await world.complete((await world.lease(maker))[0]);
  const failed = await world.task(maker);
  await world.apply(failed, { kind: "cancel" });
  const waiting = await world.task(maker, {
    dependencies: [needed.id, failed.id],
    onDependencyFailure: "wait",
    isPaused: true,
  });
  world.due.start();
  const nowMs = world.clock.nowMs();
  await world.clock.advance(60_000);
  assertEquals((await world.read(needed)).purgeAtMs, nowMs + 660_000);
  for (const { id } of [other, failed]) {
    assertEquals(await world.store.task("ten_test", id), undefined);
  }
  await world.apply(waiting, { kind: "cancel" });
  await world.clock.advance(600_000);
  assertEquals(await world.store.task("ten_test", needed.id), undefined);
  await world.due.stop();
});

Deno.test("DueClock fails an attempt that takes too long, though its worker is alive", async () => {
  const world = await open();
  world.due.start();
  const task = await world.at(0, { timeoutMs: 5_000, retry: null });
  const mailer = await world.parts.workers.get("ten_test", task.workerId);
  assert(mailer !== undefined);
  const [grant] = await world.lease(mailer);
  await world.clock.advance(4_000);
  await world.say(grant, (lease) => ({ kind: "heartbeat", lease }));
  await world.clock.advance(999);
  assertEquals((await world.read(task)).status, "running");
  await world.clock.advance(1);
  const { status, error } = await world.read(task);
  assertEquals([status, error?.code], ["failed", "timed_out"]);
  await world.due.stop();
});

Deno.test("DueClock.runOnce() sees to more tasks than one commit holds", async () => {
  const world = await open();
  for (let index = 0; index < 1_201; index++) await world.at(1_000);
  await world.clock.advance(1_000);
  assertEquals(await world.due.runOnce(), 1_201);
  assertEquals(await world.due.runOnce(), 0);
});

Deno.test("DueClock runs a repeating task on its grid, once after an outage", async () => {
  const world = await open();
  const first = await world.at(0, {
    repeat: {
      interval: "PT1M",
      catchUp: "one",
      catchUpWindowMs: HOUR_MS,
      jitterMs: 0,
      mode: "same",
      onFailure: "stop",
    },
  });
  const mailer = await world.parts.workers.get("ten_test", first.workerId);
  assert(mailer !== undefined);
  const [grant] = await world.lease(mailer);
  await world.complete(grant);
  assertEquals((await world.read(first)).status, "done");
  // No process runs for an hour.
  await world.clock.advance(HOUR_MS + 30_000);
  world.due.start();
  await world.clock.advance(10);
  const [late, none] = await world.lease(mailer, { max: 10 });
  assertEquals([late?.task.id, none], [first.id, undefined]);
  await world.complete(late);
  const task = await world.read(first);
  assertEquals(task.dateMs, first.firstDateMs + HOUR_MS + 60_000);
  assertEquals([task.executions, task.repetitions, task.missed], [2, 1, 59]);
  await world.due.stop();
});

Deno.test("DueClock ends no lease that was extended just before the clock was set", async () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const world: Awaited<ReturnType<typeof open>> = await open({
    wrap: (store) =>
      interceptStore(store, {
        async waking(proceed) {
          const answer = await proceed();
          await meanwhile?.();
          return answer;
        },
      }),
  });
  const task = await world.at(0);
  const mailer = await world.parts.workers.get("ten_test", task.workerId);
  assert(mailer !== undefined);
  const [grant] = await world.lease(mailer);
  await world.clock.advance(30_000);
  meanwhile = async () => {
    meanwhile = undefined;
    await world.say(grant, (lease) => ({ kind: "heartbeat", lease }));
    world.clock.step(HOUR_MS);
  };
  assertEquals(await world.due.runOnce(), 0);
  assertEquals(await world.due.runOnce(), 0);
  assertEquals((await world.complete(grant)).kind, "ok");
  assertEquals((await world.read(task)).lost, 0);
});

Deno.test("DueClock goes on with other tasks when the leases cannot be set with the clock", async () => {
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        scan: () => Promise.reject(new Error("the disk is full")),
      }),
  });
  world.due.start();
  const later = await world.at(5_000);
  await world.clock.advance(100);
  world.clock.step(3_000);
  await world.clock.advance(4_000);
  assertEquals((await world.read(later)).status, "waiting");
  await world.due.stop();
});

/** Adds tasks that come due before all others and cannot be changed. */
async function addUnreadable(
  { at, store }: Awaited<ReturnType<typeof open>>,
  count: number,
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const task = await at(1);
    await store.commit([{
      writes: [{
        kind: "task",
        tenantId: task.tenantId,
        id: task.id,
        expectedVersion: task.version,
        next: {
          ...task,
          version: task.version + 1,
          retry: "none that can be read",
        },
        history: [],
      }],
    }]);
  }
}

Deno.test("DueClock.runOnce() wakes tasks that stand behind a thousand that cannot be changed", async () => {
  const world = await open();
  await addUnreadable(world, 1_000);
  const behind = await world.at(1_000);
  await world.clock.advance(1_000);
  assertEquals(await world.due.runOnce(), 1);
  assertEquals((await world.read(behind)).status, "waiting");
});

Deno.test("DueClock wakes tasks to the millisecond while one cannot be changed", async () => {
  const world = await open();
  await addUnreadable(world, 1);
  world.due.start();
  const tasks = [];
  for (const delayMs of [150, 151, 2_345]) {
    tasks.push([delayMs, await world.at(delayMs)] as const);
  }
  await world.clock.advance(HOUR_MS);
  for (const [delayMs, { id }] of tasks) {
    assertEquals(world.dueAtMs.get(id), delayMs);
  }
  // It is tried again once a second, and then read again to be sure.
  assert(world.logger.listMessages("error").length < 3 * 3_600);
  await world.due.stop();
});

/** Adds tasks of another tenant that come due before all others. */
async function addMany(
  { clock, store }: Awaited<ReturnType<typeof open>>,
  tenantId: string,
  count: number,
): Promise<void> {
  const dateMs = clock.nowMs() + 1;
  const ids = sampleIds();
  const tasks = Array.from({ length: count }, () =>
    sampleTask({
      id: ids.next(),
      tenantId,
      status: "scheduled",
      isDue: false,
      dateMs,
    }));
  await store.commit(toTransactions(...tasks.map(creation)));
}

Deno.test("DueClock.runOnce() wakes tasks that stand behind those of a tenant whose commits are refused", async () => {
  const busy = "ten_busy";
  const world = await open({
    wrap: (store) =>
      withCommit(
        store,
        (transactions, apply) =>
          transactions.every(({ writes: [first] }) => first?.tenantId === busy)
            ? Promise.reject(new StoreBusyError(1_000))
            : apply(transactions),
      ),
  });
  await addMany(world, busy, 1_500);
  const behind = await world.at(1_000);
  await world.clock.advance(1_000);
  assertEquals(await world.due.runOnce(), 1);
  assertEquals((await world.read(behind)).status, "waiting");
  const left = await world.store.counts({ tenantId: busy });
  assertEquals(left, { scheduled: 1_500 });
});

Deno.test("DueClock.runOnce() wakes tasks before the thousands of another tenant that came due before them", async () => {
  const world = await open();
  await addMany(world, "ten_busy", 3_000);
  const behind = [await world.at(500), await world.at(1_000)];
  const woken: string[] = [];
  world.engine.changes.onChange(({ next }) => {
    if (next?.status === "waiting") woken.push(next.id);
  });
  await world.clock.advance(1_000);
  assertEquals(await world.due.runOnce(), 3_002);
  assertEquals(woken.slice(0, 2), behind.map(({ id }) => id));
  assertEquals(new Set(woken).size, 3_002);
});

Deno.test("DueClock.runOnce() looks at each task behind those of a tenant with many once", async () => {
  let looked = 0;
  const world = await open({
    wrap: (store) => ({
      ...store,
      async wakingOfOthers(query) {
        const found = await store.wakingOfOthers(query);
        if (found.next !== undefined) looked += query.maxLooked;
        return found;
      },
    }),
  });
  await addMany(world, "ten_busy", 12_000);
  await world.clock.advance(1_000);
  assertEquals(await world.due.runOnce(), 12_000);
  assert(looked >= 11_500 && looked <= 13_000, `${looked} looked at`);
});
