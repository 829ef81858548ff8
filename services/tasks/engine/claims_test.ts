import { BLANK_DEFINITION } from "../domain/task.ts";
import { createTasks, type TaskOfTest } from "./testing/create_tasks.ts";
import { assert, assertEquals } from "@std/assert";
import { interceptStore, slowCommits } from "./testing/intercepted_store.ts";
import { openTestEngine, OWNER, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("Claims shares tasks among all who wait, each with no more than it asked for", async () => {
  const world = await openTestEngine({ wrap: slowCommits });
  const mailer = await world.worker();
  await world.engine.start();
  const waiting = Array.from(
    { length: 8 },
    (_, index) => world.lease(mailer, { max: 1 + index, waitMs: 30_000 }),
  );
  for (let index = 0; index < 100; index++) await world.task(mailer);
  await world.clock.advance(10);
  const answers = await Promise.all(waiting);
  const ids = answers.flat().map(({ task }) => task.id);
  assertEquals(new Set(ids).size, ids.length);
  for (const [index, { length }] of answers.entries()) {
    assert(length >= 1 && length <= 1 + index);
  }
  const rest = await world.lease(mailer, { max: 100 });
  assertEquals(ids.length + rest.length, 100);
  await world.engine.stop();
});

Deno.test("Claims answers one who does not wait with what there is", async () => {
  const world = await openTestEngine({ wrap: slowCommits });
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const grants = await world.lease(mailer, { waitMs: 0 });
  assertEquals(grants.map(({ task }) => task.id), [made.id]);
  assertEquals(await world.history(made), ["created", "started"]);
  assertEquals(await world.lease(mailer, { waitMs: 0 }), []);
});

Deno.test("Claims answers one whose time ends during a claim with what was claimed", async () => {
  const commit = Promise.withResolvers<void>();
  let isHeld = false;
  const world = await openTestEngine({
    wrap: (store) =>
      interceptStore(store, {
        async commit(proceed) {
          if (isHeld) await commit.promise;
          return await proceed();
        },
      }),
  });
  const mailer = await world.worker();
  const made = await world.task(mailer);
  isHeld = true;
  const waiting = world.lease(mailer, { waitMs: 1_000 });
  await world.clock.advance(5_000);
  commit.resolve();
  const [grant] = await waiting;
  assertEquals(grant?.task.id, made.id);
  assertEquals(await world.history(made), ["created", "started"]);
});

Deno.test("Claims gives tasks back, and spends no attempt, when nobody is there to take them", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  let leave: (() => void) | undefined;
  // The client goes away between the commit and the answer.
  world.engine.changes.onChange(({ next }) => {
    if (next?.status === "running") leave?.();
  });
  const grants = await world.lease(mailer, {
    waitMs: 30_000,
    onGone: (callback) => leave = callback,
  });
  assertEquals(grants, []);
  await world.engine.stop();
  const task = await world.read(made);
  assertEquals(await world.history(made), ["created", "started", "released"]);
  assertEquals([task.status, task.executions, task.retries, task.lost], [
    "waiting",
    0,
    0,
    0,
  ]);
});

Deno.test("Claims gives only tasks of the jobs that were asked for", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.task(mailer, { job: "a" });
  const other = await world.task(mailer, { job: "b" });
  const grants = await world.lease(mailer, { max: 10, jobs: ["b", "c"] });
  assertEquals(grants.map(({ task }) => task.id), [other.id]);
  const all = await Promise.all([
    world.lease(mailer, { max: 10, jobs: ["a"] }),
    world.lease(mailer, { max: 10 }),
  ]);
  assertEquals(all.map(({ length }) => length), [1, 0]);
});

Deno.test("Claims keeps the bound on tasks under way, and gives free slots at once", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ concurrency: 2 });
  for (let index = 0; index < 4; index++) await world.task(mailer);
  const [first] = await world.lease(mailer, { max: 10 });
  assertEquals((await world.lease(mailer, { max: 10 })).length, 0);
  const waiting = world.lease(mailer, { max: 10, waitMs: 30_000 });
  await world.clock.advance(500);
  await world.complete(first);
  await world.clock.advance(0);
  assertEquals((await waiting).length, 1);
});

Deno.test("Claims keeps to the lower of the worker's bound and the plan's", async () => {
  for (const [concurrency, plan] of [[5, 3], [3, 5], [0, 3]] as const) {
    const world = await openTestEngine({ limits: { concurrency: plan } });
    const mailer = await world.worker({ concurrency });
    for (let index = 0; index < 6; index++) await world.task(mailer);
    assertEquals((await world.lease(mailer, { max: 10 })).length, 3);
  }
});

Deno.test("Claims lets more than a round's tasks be under way when the bound allows it", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ concurrency: 1_200 });
  const task = {
    tenantId: TENANT_ID,
    worker: mailer,
    definition: { ...BLANK_DEFINITION, workerId: mailer.id },
    isPaused: false,
    actor: OWNER,
  };
  await createTasks(world.engine, new Array<TaskOfTest>(1_150).fill(task));
  assertEquals((await world.lease(mailer, { max: 1_100 })).length, 100);
  // The number is ten times the limit of a round, and no request waits.
  const leases = await Promise.all(
    Array.from({ length: 10 }, () => world.lease(mailer, { max: 100 })),
  );
  assertEquals(
    leases.map((grants) => grants.length),
    new Array<number>(10).fill(100),
  );
});

Deno.test("Claims lets groups take turns, so that a long queue does not block a short one", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  for (let index = 0; index < 50; index++) {
    await world.task(mailer, { group: "big" });
  }
  await world.task(mailer, { group: "small" });
  await world.task(mailer, { group: "tiny" });
  const groups: string[] = [];
  await world.engine.start();
  for (let index = 0; index < 4; index++) {
    const [grant] = await world.lease(mailer);
    groups.push(grant?.task.group ?? "");
    await world.complete(grant);
    // The worker works for a while before it asks again.
    await world.clock.advance(5_000);
  }
  assertEquals(groups, ["big", "small", "tiny", "big"]);
  await world.engine.stop();
});

Deno.test("Claims keeps the bound of a group, whoever asks for which jobs", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ limits: { groupConcurrency: 1 } });
  for (const job of ["a", "b"]) {
    await world.task(mailer, { job, group: "g" });
    await world.task(mailer, { job });
  }
  const answers = await Promise.all([
    world.lease(mailer, { max: 5, jobs: ["a"] }),
    world.lease(mailer, { max: 5, jobs: ["b"] }),
  ]);
  const groups = answers.flat().map(({ task }) => task.group).sort();
  assertEquals(groups, ["", "", "g"]);
});

Deno.test("Claims counts what is under way from the store, so that no slot leaks at a restart", async () => {
  const before = await openTestEngine();
  const mailer = await before.worker({ concurrency: 1 });
  await before.task(mailer);
  await before.task(mailer);
  const [grant] = await before.lease(mailer);
  const after = await openTestEngine({
    store: before.store,
    clock: before.clock,
  });
  assertEquals(await after.lease(mailer), []);
  await after.complete(grant);
  assertEquals((await after.lease(mailer)).length, 1);
});

Deno.test("Claims keeps a rate limit, and applies it after the order", async () => {
  const world = await openTestEngine();
  const rate = { count: 2, periodMs: 1_000, per: "worker" } as const;
  const mailer = await world.worker({ limits: { rate } });
  for (const priority of [0, 0, 0, 9, 5]) {
    await world.task(mailer, { priority });
  }
  await world.engine.start();
  const first = await world.lease(mailer, { max: 10 });
  assertEquals(first.map(({ task }) => task.priority), [9, 5]);
  const waiting = world.lease(mailer, { max: 10, waitMs: 10_000 });
  const startMs = world.clock.nowMs();
  await world.clock.advance(1_100);
  const second = await waiting;
  assertEquals(second.map(({ task }) => task.priority), [0, 0]);
  for (const { task } of second) {
    assertEquals((task.startedAtMs ?? 0) - startMs, 1_000);
  }
  await world.engine.stop();
});

Deno.test("Claims keeps the rate limit of each group for itself", async () => {
  const world = await openTestEngine();
  const rate = { count: 1, periodMs: 1_000, per: "group" } as const;
  const mailer = await world.worker({ limits: { rate } });
  for (const group of ["a", "a", "b", "b", "", ""]) {
    await world.task(mailer, { group });
  }
  const first = await world.lease(mailer, { max: 10 });
  assertEquals(first.map(({ task }) => task.group).sort(), ["", "", "a", "b"]);
  assertEquals(await world.lease(mailer, { max: 10 }), []);
  await world.clock.advance(1_000);
  const second = await world.lease(mailer, { max: 10 });
  assertEquals(second.map(({ task }) => task.group).sort(), ["a", "b"]);
});

Deno.test("Claims gives nothing of a paused worker, and begins when it is resumed", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ isPaused: true });
  await world.task(mailer);
  const waiting = world.lease(mailer, { waitMs: 30_000 });
  await world.clock.advance(5_000);
  await world.changeWorker(mailer, { isPaused: false });
  world.engine.claims.trigger({ tenantId: TENANT_ID, workerId: mailer.id });
  await world.clock.advance(0);
  assertEquals((await waiting).length, 1);
});

Deno.test("Claims does not ask again and again while nothing can be started", async () => {
  let asked = 0;
  const world = await openTestEngine({
    wrap: (store) =>
      interceptStore(store, {
        candidates(proceed) {
          asked++;
          return proceed();
        },
      }),
  });
  const mailer = await world.worker();
  await world.engine.start();
  const made = await world.task(mailer, { priority: 9 });
  world.clock.step(-3_600_000);
  const waiting = world.lease(mailer, { waitMs: 30_000 });
  await world.clock.advance(1_000);
  asked = 0;
  await world.clock.advance(10_000);
  assert(asked <= 25, `it asked ${asked} times`);
  await world.clock.advance(20_000);
  assertEquals(await waiting, []);
  assertEquals((await world.read(made)).status, "scheduled");
  await world.engine.stop();
});

Deno.test("Claims is not held up by tasks from before the clock was set back", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  for (let index = 0; index < 5; index++) {
    await world.task(mailer, { group: "a", priority: 9 });
  }
  world.clock.step(-3_600_000);
  const fine = await world.task(mailer, { group: "b" });
  const waiting = world.lease(mailer, { waitMs: 1_000 });
  await world.clock.advance(900);
  await world.clock.advance(200);
  assertEquals((await waiting).map(({ task }) => task.id), [fine.id]);
});

Deno.test("Claims goes on after the store has failed", async () => {
  let fails = true;
  const world = await openTestEngine({
    wrap: (store) =>
      interceptStore(store, {
        candidates: (proceed) =>
          fails ? Promise.reject(new Error("no disk")) : proceed(),
      }),
  });
  const mailer = await world.worker();
  await world.task(mailer);
  const waiting = world.lease(mailer, { waitMs: 30_000 });
  await world.clock.advance(2_500);
  fails = false;
  await world.clock.advance(1_000);
  assertEquals((await waiting).length, 1);
  assert(world.logger.messages.includes(
    "Cannot hand out tasks: the store failed",
  ));
});

Deno.test("Claims gives back what was started by a commit whose answer was lost", async () => {
  let isLost = false;
  const world = await openTestEngine({
    wrap: (store) =>
      interceptStore(store, {
        async commit(proceed) {
          const answer = await proceed();
          if (isLost) throw new Error("no answer");
          return answer;
        },
      }),
  });
  const mailer = await world.worker();
  const made = await world.task(mailer, { retry: null });
  await world.engine.start();
  isLost = true;
  const waiting = world.lease(mailer, { waitMs: 20_000 });
  await world.clock.advance(10);
  assertEquals((await world.read(made)).status, "running");
  isLost = false;
  await world.clock.advance(1_100);
  const [grant] = await waiting;
  assertEquals(grant?.task.fence, 2);
  await world.complete(grant);
  const { status, executions, lost } = await world.read(made);
  assertEquals([status, executions, lost], ["complete", 1, 0]);
  await world.engine.stop();
});

Deno.test("Claims starts no more than can be handed out after the stop, and leaves no timer", async () => {
  const world = await openTestEngine({ wrap: slowCommits });
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const waiting = world.lease(mailer, { waitMs: 30_000 });
  await world.engine.stop();
  assertEquals((await waiting).length, 0);
  const task = await world.read(made);
  assertEquals([task.status, task.executions], ["waiting", 0]);
  assertEquals(await world.lease(mailer), []);
  assertEquals(world.clock.pendingTimers, 0);
});
