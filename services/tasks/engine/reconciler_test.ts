import { assert, assertEquals } from "@std/assert";
import type { Task } from "../domain/task.ts";
import type { Reconciler } from "./reconciler.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";
import type { Grant } from "./waiter.ts";

/** Writes a task in a state that only a fault could cause. */
async function forge(
  { store, read }: TestEngine,
  task: Pick<Task, "id">,
  change: (task: Task) => Task,
): Promise<Task> {
  const now = await read(task);
  const next = { ...change(now), version: now.version + 1 };
  await store.commit([{
    writes: [{
      kind: "task",
      tenantId: TENANT_ID,
      id: task.id,
      expectedVersion: now.version,
      next,
      history: [],
    }],
  }]);
  return next;
}

async function round(
  { engine, clock }: TestEngine,
): Promise<
  Omit<Awaited<ReturnType<Reconciler["runOnce"]>>, "atMs" | "miscounted">
> {
  const done = engine.reconciler.runOnce();
  await clock.advance(2_000);
  const { atMs: _atMs, miscounted, ...report } = await done;
  assertEquals(miscounted, 0);
  return report;
}

Deno.test("Reconciler.runOnce() finds nothing where all is well", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const one = await world.task(mailer);
  await world.task(mailer, { dependencies: [one.id] });
  await world.lease(mailer);
  assertEquals(await round(world), { checked: 2, repaired: 0, stuck: 0 });
  assertEquals(world.logger.listMessages("warning"), []);
  assertEquals(world.engine.reconciler.report?.checked, 2);
});

Deno.test("Reconciler.runOnce() lets a task wait again that runs without a lease", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  await forge(world, made, (task) => ({ ...task, status: "running" }));
  assertEquals(await round(world), { checked: 1, repaired: 1, stuck: 0 });
  assertEquals((await world.read(made)).status, "waiting");
  assertEquals(await world.history(made), ["created", "repaired"]);
  assertEquals((await world.lease(mailer)).length, 1);
});

Deno.test("Reconciler.runOnce() ends an attempt that nobody took note of, or whose server is gone", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const late = await world.task(mailer);
  const orphan = await world.task(mailer);
  await world.lease(mailer, { max: 2 });
  await forge(world, orphan, (task) => ({
    ...task,
    ...(task.attempt === undefined ? {} : {
      attempt: { ...task.attempt, bootId: "boot_gone" },
    }),
  }));
  assertEquals((await round(world)).repaired, 1);
  assertEquals((await world.read(orphan)).status, "waiting");
  // The engine's clock does not run, so the end of the lease is missed.
  await world.clock.advance(120_000);
  assertEquals((await round(world)).repaired, 1);
  const { status, lost } = await world.read(late);
  assertEquals([status, lost], ["waiting", 1]);
});

Deno.test("Reconciler.runOnce() lets a blocked task go on that nobody has seen to", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const one = await world.task(mailer);
  const waits = await world.task(mailer, { dependencies: [one.id] });
  await forge(world, one, (task) => ({
    ...task,
    status: "complete",
    isDue: false,
    lastOutcome: "succeeded",
  }));
  assertEquals((await round(world)).repaired, 1);
  assertEquals((await world.read(waits)).status, "waiting");
});

Deno.test("Reconciler.runOnce() does not take for stuck what somebody is about to see to", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const one = await world.task(mailer);
  const waits = await world.task(mailer, { dependencies: [one.id] });
  const [grant] = await world.lease(mailer);
  const done = world.complete(grant);
  const report = await round(world);
  await done;
  assertEquals(report.repaired, 0);
  assertEquals((await world.read(waits)).status, "waiting");
});

Deno.test("Reconciler.runOnce() lets a lease from before the clock was set back and the server started end in time", async () => {
  const first = await openTestEngine();
  const { store, clock } = first;
  const mailer = await first.worker();
  const made = await first.task(mailer);
  await first.lease(mailer);
  clock.step(-3_600_000);
  const world = await openTestEngine({ store, clock, seed: 2 });
  await world.engine.start();
  await clock.advance(60_000 + 30_000 + 2_000);
  const { status, lost } = await world.read(made);
  assertEquals([status, lost], ["waiting", 1]);
  await world.engine.stop();
});

Deno.test("Reconciler counts what is overdue", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.task(mailer, { dateMs: world.clock.nowMs() + 1_000 });
  await world.clock.advance(30_000);
  assertEquals((await round(world)).stuck, 0);
  await world.clock.advance(60_000);
  assertEquals((await round(world)).stuck, 1);
  assertEquals(world.logger.listMessages("warning").length, 1);
});

Deno.test("Reconciler.runOnce() looks at more tasks than a page holds", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  for (let index = 0; index < 450; index++) {
    const made = await world.task(mailer);
    await forge(world, made, (task) => ({ ...task, status: "running" }));
  }
  assertEquals(await round(world), { checked: 450, repaired: 450, stuck: 0 });
});

Deno.test("Reconciler goes round once a minute, also after the store has failed", async () => {
  const world = await openTestEngine({ trouble: { failureShare: 1 } });
  const { store, clock, parts } = world;
  const other = await openTestEngine({ store, clock, seed: 2 });
  const mailer = await other.worker();
  const made = await other.task(mailer);
  await forge(other, made, (task) => ({ ...task, status: "running" }));
  world.engine.reconciler.start();
  await clock.advance(1_000);
  assertEquals(
    parts.logger === world.logger && world.logger.listMessages("error"),
    ["Cannot reconcile: the store failed"],
  );
  await clock.advance(120_000);
  assertEquals(world.logger.listMessages("error").length, 3);
  await world.engine.reconciler.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Reconciler.runOnce() has the counts of tasks proved and tells of those that were wrong", async () => {
  const { store } = await openTestEngine();
  const world = await openTestEngine({
    store: interceptStore(store, { proveCounts: () => Promise.resolve(3) }),
  });
  const { miscounted } = await world.engine.reconciler.runOnce();
  assertEquals(miscounted, 3);
  assertEquals(world.logger.listMessages("warning").length, 1);
});

Deno.test("Reconciler.runOnce() rests four times as long as it works", async () => {
  const { store, clock } = await openTestEngine();
  const begunMs: number[] = [];
  const world = await openTestEngine({
    clock,
    store: interceptStore(store, {
      async scan(proceed) {
        begunMs.push(clock.elapsedMs);
        await clock.sleep(10);
        return await proceed();
      },
    }),
  });
  const mailer = await world.worker();
  for (let index = 0; index < 250; index++) {
    const made = await world.task(mailer);
    await forge(world, made, (task) => ({ ...task, status: "running" }));
  }
  const done = world.engine.reconciler.runOnce();
  await clock.advance(1_000);
  assertEquals((await done).repaired, 250);
  const [first = 0, second = 0, third = 0] = begunMs;
  assert(second - first > 48 && third - second > 48, begunMs.join());
});

Deno.test("Engine.start() gives back the calls of earlier starts, and leaves leases to their holders", async () => {
  const before = await openTestEngine();
  const pull = await before.worker();
  const push = await before.worker({
    name: "push",
    kind: "push",
    url: "https://worker.example/",
  });
  const pulled = await before.task(pull);
  const pushed = await before.task(push);
  const [grant] = await before.lease(pull);
  const taken = Promise.withResolvers<readonly Grant[]>();
  let isTaken = false;
  before.engine.claims.add({ tenantId: TENANT_ID, workerId: push.id }, {
    max: () => isTaken ? 0 : 1,
    isPush: true,
    take: (grants) => {
      isTaken = true;
      taken.resolve(grants);
      return true;
    },
  });
  await taken.promise;
  const { store, clock } = before;
  const after = await openTestEngine({ store, clock, seed: 2 });
  assertEquals(await after.engine.start(), 1);
  const lost = await after.read(pushed);
  assertEquals([lost.status, lost.lost, lost.retries], ["waiting", 1, 0]);
  assertEquals((await after.read(pulled)).status, "running");
  assertEquals((await after.complete(grant)).kind, "ok");
  await after.engine.stop();
});

Deno.test("Engine.start() gives back more than one commit holds, whatever the conflicts", async () => {
  const before = await openTestEngine();
  const push = await before.worker({ kind: "push" });
  for (let index = 0; index < 1_100; index++) await before.task(push);
  let taken = 0;
  const all = Promise.withResolvers<void>();
  before.engine.claims.add({ tenantId: TENANT_ID, workerId: push.id }, {
    max: () => 1_000,
    isPush: true,
    take: (grants) => {
      taken += grants.length;
      if (taken === 1_100) all.resolve();
      return true;
    },
  });
  await all.promise;
  const { store, clock } = before;
  const after = await openTestEngine({
    store,
    clock,
    seed: 2,
    trouble: { conflictShare: 0.3 },
  });
  assertEquals(await after.engine.start(), 1_100);
  await after.engine.stop();
});

Deno.test("Engine.start() leaves its own attempts alone", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ concurrency: 1 });
  await world.task(mailer);
  const [grant] = await world.lease(mailer);
  assertEquals(await world.engine.start(), 0);
  assertEquals((await world.complete(grant)).kind, "ok");
  await world.engine.stop();
});
