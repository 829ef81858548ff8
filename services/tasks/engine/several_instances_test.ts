import { assert, assertEquals } from "@std/assert";
import type { PushOutcome } from "../delivery/push_answer.ts";
import type { Tenant, User } from "../domain/records.ts";
import type { Notice } from "../store/instances.ts";
import { serviceWrite } from "./record_writes.ts";
import { REGISTRY } from "./repositories.ts";
import { TenantEraser } from "./tenant_removal.ts";
import { RecordingMirror } from "./testing/recording_mirror.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { openFleet } from "./testing/test_fleet.ts";
import { TENANT_ID } from "./testing/test_engine.ts";
import { answered, type TestPush } from "./testing/test_push.ts";

/** The instance that makes the call of a task. */
async function callerOf(
  all: readonly TestPush[],
  task: { readonly id: string },
): Promise<TestPush | undefined> {
  const { attempt } = await all[0]!.read(task);
  return all.find((one) => one.parts.instances.id === attempt?.bootId);
}

/** Leases at most one task at an instance. */
function waitAt(one: TestPush, workerId: string, waitMs: number) {
  return one.engine.leases.lease({
    tenantId: TENANT_ID,
    workerId,
    max: 1,
    waitMs,
  });
}

Deno.test("Engine.start() ends no call of other instances, and neither do their rounds", async () => {
  const fleet = await openFleet();
  const [one, other] = fleet.instances;
  const worker = await one.pushWorker({ timeoutMs: 600_000, leaseMs: 600_000 });
  const tasks = [await one.task(worker), await other.task(worker)];
  await fleet.advance(1_000);
  const late = await fleet.open();
  await late.start();
  await fleet.advance(130_000);
  for (const task of tasks) {
    assertEquals(await one.history(task), ["created", "started"]);
  }
  await fleet.stop();
});

for (let index = 0; index < 3; index++) {
  Deno.test(`Engine takes over the calls of a killed instance within 12 s, and no others, when it is number ${index}`, async () => {
    // Each makes the calls of its own tasks when nobody hears of them.
    const fleet = await openFleet({
      wrap: (store) => ({ ...store, tell: () => {} }),
    });
    const [one] = fleet.instances;
    const worker = await one.pushWorker({
      timeoutMs: 600_000,
      leaseMs: 600_000,
    });
    const tasks = [];
    for (let count = 0; count < 12; count++) {
      const from = fleet.instances[count % 3]!;
      tasks.push(await from.task(worker));
    }
    await fleet.advance(1_000);
    const killed = fleet.instances[index]!;
    const callers = new Map<string, TestPush | undefined>();
    for (const task of tasks) {
      callers.set(task.id, await callerOf(fleet.instances, task));
    }
    assert([...callers.values()].includes(killed));
    killed.die();
    await fleet.advance(12_000, [killed]);
    const alive = fleet.instances.filter((each) => each !== killed);
    for (const task of tasks) {
      const wasKilled = callers.get(task.id) === killed;
      const types = await alive[0]!.history(task);
      assertEquals(
        types,
        wasKilled
          ? ["created", "started", "lost", "started"]
          : ["created", "started"],
      );
      assert(await callerOf(alive, task) !== undefined);
    }
    for (const each of alive) await each.stop();
  });
}

Deno.test("Recovery ends a call whose start is written late, after its instance was found dead", async () => {
  const fleet = await openFleet();
  const [one, two, three] = fleet.instances;
  const puller = await one.worker();
  const task = await one.task(puller);
  three.die();
  await fleet.advance(12_000, [three]);
  await one.apply(task, {
    kind: "start",
    tokenHash: "",
    leaseMs: 600_000,
    bootId: three.parts.instances.id,
  });
  await fleet.advance(3_000, [three]);
  assertEquals(await one.history(task), ["created", "started", "lost"]);
  await one.stop();
  await two.stop();
});

Deno.test("Engine hands the work over without a wait when an instance stops in order", async () => {
  const fleet = await openFleet();
  const [one, two, three] = fleet.instances;
  const worker = await one.pushWorker({ timeoutMs: 600_000, leaseMs: 600_000 });
  const tasks = [];
  for (let count = 0; count < 6; count++) tasks.push(await two.task(worker));
  await fleet.advance(1_000);
  await two.stop();
  await fleet.advance(1_000, [two]);
  for (const task of tasks) {
    const caller = await callerOf([one, three], task);
    assert(caller !== undefined);
    // A call that was given back uses up no retry.
    assertEquals((await one.read(task)).lost, 0);
  }
  await one.stop();
  await three.stop();
});

Deno.test("Engine that is cut off ends its calls and claims nothing before others take over, and goes on as a new instance", async () => {
  let isCut = false;
  const fleet = await openFleet({
    wrap: (store, index) =>
      index !== 1 ? store : interceptStore(store, {
        beat: (proceed) =>
          isCut ? Promise.reject(new Error("cut off")) : proceed(),
      }),
  });
  const [one, two] = fleet.instances;
  const worker = await one.pushWorker({ timeoutMs: 600_000, leaseMs: 600_000 });
  const puller = await one.worker({ name: "puller" });
  const task = await two.task(worker);
  await fleet.advance(100);
  assertEquals(await callerOf(fleet.instances, task), two);
  const { id } = two.parts.instances;
  isCut = true;
  const waiting = waitAt(two, puller.id, 20_000);
  await fleet.advance(6_100);
  assert(two.calls.every(({ signal }) => signal?.aborted === true));
  assert(one.parts.instances.members.some((member) => member.id === id));
  // It can still write, so the task is released and others call.
  const [, ...others] = await one.history(task);
  assertEquals(others, ["started", "released", "started"]);
  assert(await callerOf(fleet.instances, task) !== two);
  await two.task(puller);
  await fleet.advance(3_900);
  assertEquals(two.parts.instances.isFenced, true);
  isCut = false;
  await fleet.advance(2_500);
  assert(two.parts.instances.id !== id);
  assertEquals((await waiting).length, 1);
  await fleet.stop();
});

Deno.test("Engine lets others do the duties of a killed instance", async () => {
  const fleet = await openFleet();
  const [one, two, three] = fleet.instances;
  one.die();
  await fleet.advance(12_000, [one]);
  for (const duty of ["wake", "recover", "reconcile", "bulk"] as const) {
    const holders = [two, three].filter(({ parts }) =>
      parts.instances.holds(duty)
    );
    assertEquals(holders.length, 1, duty);
  }
  await two.stop();
  await three.stop();
});

Deno.test("Engine hands a task that was made at one instance to a worker that waits at another, at once", async () => {
  const fleet = await openFleet();
  const [one, two] = fleet.instances;
  const worker = await one.worker();
  const waiting = waitAt(two, worker.id, 30_000);
  await fleet.advance(500);
  const task = await one.task(worker);
  await fleet.advance(50);
  assertEquals((await waiting).map((grant) => grant.task.id), [task.id]);
  await fleet.stop();
});

Deno.test("Engine hands out a task when room has become free at another instance", async () => {
  const fleet = await openFleet();
  const [one, two] = fleet.instances;
  const worker = await one.worker({ concurrency: 1 });
  const first = await one.task(worker);
  const second = await one.task(worker);
  const [grant] = await one.lease(worker);
  assertEquals(grant?.task.id, first.id);
  const waiting = waitAt(two, worker.id, 30_000);
  await fleet.advance(300);
  await one.complete(grant);
  await fleet.advance(50);
  assertEquals((await waiting).map(({ task }) => task.id), [second.id]);
  await fleet.stop();
});

Deno.test("Engine wakes a task on time that was made at an instance without the duty, and half a second late when the holder stands still", async () => {
  const fleet = await openFleet();
  const { instances: all, time } = fleet;
  const holder = all.find(({ parts }) => parts.instances.holds("wake"))!;
  const other = all.find((each) => each !== holder)!;
  const worker = await other.worker();
  await fleet.advance(300);
  const at = async (still: readonly TestPush[]): Promise<number> => {
    const dateMs = time.nowMs() + 200;
    const task = await other.task(worker, { dateMs });
    for (let lateMs = -200; lateMs < 3_000; lateMs += 50) {
      if ((await other.read(task)).isDue) return lateMs;
      await fleet.advance(50, still);
    }
    return Infinity;
  };
  assertEquals(await at([]), 0);
  const lateMs = await at([holder]);
  assert(lateMs >= 450 && lateMs <= 550, `${lateMs}`);
  await fleet.stop();
});

Deno.test("Engine aborts a call when its task is canceled at another instance", async () => {
  const fleet = await openFleet();
  const [one, two, three] = fleet.instances;
  const worker = await one.pushWorker({ timeoutMs: 600_000, leaseMs: 600_000 });
  const task = await two.task(worker);
  await fleet.advance(100);
  const caller = await callerOf(fleet.instances, task);
  assertEquals(caller, two);
  await three.apply(task, { kind: "cancel" });
  await fleet.advance(50);
  assertEquals(two.calls.map(({ signal }) => signal?.aborted), [true]);
  assertEquals(two.push.inFlight, 0);
  await fleet.stop();
});

Deno.test("TaskEnds.wait() hears of the end at another instance at once, and within a second when notices are lost", async () => {
  let isLossy = false;
  const fleet = await openFleet({
    wrap: (store) => ({
      ...store,
      tell: (notices) => isLossy ? undefined : store.tell(notices),
    }),
  });
  const [one, two] = fleet.instances;
  const worker = await one.worker();
  for (const lossy of [false, true]) {
    isLossy = lossy;
    const task = await one.task(worker);
    const [grant] = await one.lease(worker);
    let isOver = false;
    const waiting = two.engine.ends.wait(TENANT_ID, task.id, {
      waitMs: 30_000,
      onGone: () => () => {},
    }).finally(() => isOver = true);
    await fleet.advance(1_500);
    assertEquals(isOver, false);
    await one.complete(grant);
    await fleet.advance(lossy ? 1_000 : 50);
    assertEquals(isOver, true);
    assertEquals((await waiting)?.status, "complete");
  }
  await fleet.stop();
});

for (const isLossy of [false, true]) {
  const when = isLossy ? "within a second when notices are lost" : "at once";
  Deno.test(`Dependents lets a task go on that another instance has blocked, ${when}`, async () => {
    const fleet = await openFleet({
      wrap: (store) => ({
        ...store,
        tell: (notices) => isLossy ? undefined : store.tell(notices),
      }),
    });
    const all = fleet.instances;
    const worker = await all[0].worker();
    // The reconciler has counted: no tenant has blocked tasks.
    await fleet.advance(61_000);
    const counter = all.find((one) => one.parts.instances.holds("reconcile"))!;
    const other = all.find((one) => one !== counter)!;
    assert(counter.engine.reconciler.report !== undefined);
    const first = await counter.task(worker);
    const [grant] = await counter.lease(worker);
    const second = await other.task(worker, { dependencies: [first.id] });
    assertEquals((await other.read(second)).status, "blocked");
    await fleet.advance(2_000);
    await counter.complete(grant);
    await fleet.advance(isLossy ? 1_100 : 50);
    assertEquals((await other.read(second)).status, "waiting");
    await fleet.stop();
  });
}

Deno.test("Dependents lets a task go on whose dependency ends elsewhere while it is being created", async () => {
  let beforeCommit: (() => Promise<unknown>) | undefined;
  let afterCommit: (() => Promise<unknown>) | undefined;
  const fleet = await openFleet({
    wrap: (store) =>
      interceptStore(store, {
        async commit(proceed) {
          const before = beforeCommit;
          beforeCommit = undefined;
          await before?.();
          const answer = await proceed();
          const after = afterCommit;
          afterCommit = undefined;
          await after?.();
          return answer;
        },
      }),
  });
  const all = fleet.instances;
  const worker = await all[0].worker();
  await fleet.advance(61_000);
  const counter = all.find((one) => one.parts.instances.holds("reconcile"))!;
  const other = all.find((one) => one !== counter)!;
  for (const side of ["before", "after"] as const) {
    const first = await counter.task(worker);
    const [grant] = await counter.lease(worker);
    const ends = async () => await counter.complete(grant);
    if (side === "before") beforeCommit = ends;
    else afterCommit = ends;
    const second = await other.task(worker, { dependencies: [first.id] });
    await fleet.advance(1_100);
    assertEquals((await other.read(second)).status, "waiting", side);
    await other.complete((await other.lease(worker))[0]);
    await fleet.advance(100);
  }
  await fleet.stop();
});

Deno.test("UserMirroring tells a request what a delivery at another instance did", async () => {
  const mirrors = Array.from({ length: 3 }, () => new RecordingMirror());
  const fleet = await openFleet({ mirror: (index) => mirrors[index] });
  const all = fleet.instances;
  const one = all.find(({ parts }) => !parts.instances.holds("wake"))!;
  // Only the one claims the delivery that also removes ended tasks at once.
  for (const { parts } of all) {
    if (!parts.instances.holds("wake")) parts.workers.get = () => undefined;
  }
  const user: User = {
    tenantId: TENANT_ID,
    id: "usr_ada",
    version: 1,
    email: "ada@example.com",
    name: "",
    role: "member",
    status: "invited",
    payloads: true,
    createdAtMs: 0,
    updatedAtMs: 0,
  };
  const plan = one.engine.mirroring.insert(user);
  const { users, tenants } = one.parts.repositories;
  const tenant: Tenant = {
    id: TENANT_ID,
    version: 1,
    domain: "acme",
    status: "active",
    plan: "test",
    timezone: "UTC",
    createdAtMs: 0,
    updatedAtMs: 0,
  };
  await one.store.commit([
    { writes: [tenants.insert(tenant)] },
    { writes: [users.insert(user), ...plan.writes] },
  ]);
  for (const mirror of mirrors) mirror.always = { kind: "exists" };
  let state: string | undefined = "pending";
  plan.run().then((ended) => state = ended);
  await fleet.advance(600);
  assertEquals([state, mirrors[all.indexOf(one)]!.calls], ["exists", []]);
  await fleet.stop();
});

Deno.test("Maintainer.wake() lets the instance run that holds the duty", async () => {
  const fleet = await openFleet();
  const all = fleet.instances;
  const erasers = all.map(({ engine }) => new TenantEraser({ engine }));
  for (const eraser of erasers) eraser.start();
  await fleet.advance(1_000);
  const other = all.findIndex(({ parts }) => !parts.instances.holds("erase"));
  const mark = { tenantId: REGISTRY, id: `closing:${TENANT_ID}` };
  await all[0].store.commit([{ writes: [serviceWrite(mark, TENANT_ID)] }]);
  erasers[other]!.wake();
  await fleet.advance(500);
  const left = await all[0].store.record("service", REGISTRY, mark.id);
  assertEquals(left, undefined);
  for (const eraser of erasers) await eraser.stop();
  await fleet.stop();
});

Deno.test("Liveness knows at every instance when a worker has asked, with its processes and jobs", async () => {
  const fleet = await openFleet();
  const [one, two] = fleet.instances;
  const worker = await one.worker();
  await one.lease(worker, { instance: "a", jobs: ["mail"] });
  await one.lease(worker, { instance: "b", jobs: ["print"] });
  await fleet.advance(50);
  const name = { tenantId: TENANT_ID, workerId: worker.id };
  const life = two.engine.liveness.of(name);
  assertEquals([...life?.instances ?? []].map(([each]) => each), ["a", "b"]);
  assert(life?.jobSeenAtMs("print") !== undefined);
  assertEquals(life?.jobSeenAtMs("other"), undefined);
  await fleet.stop();
});

Deno.test("LeaseClock shifts nothing when one machine's clock is set, where the store has its own time", async () => {
  const fleet = await openFleet();
  const [one, two] = fleet.instances;
  const worker = await one.worker();
  const task = await one.task(worker);
  const [grant] = await one.lease(worker);
  const before = await one.read(task);
  for (const ms of [3_600_000, -7_200_000]) {
    two.clock.step(ms);
    await fleet.advance(3_000);
    assertEquals((await one.read(task)).attempt, before.attempt);
  }
  // Of the store's time, each would shift it.
  fleet.time.step(10_000);
  await fleet.advance(3_000);
  assertEquals((await one.read(task)).attempt, before.attempt);
  assertEquals((await one.complete(grant)).kind, "ok");
  await fleet.stop();
});

Deno.test("LeaseClock ends no lease while the store says that it must not", async () => {
  let mayEnd = true;
  const fleet = await openFleet({
    wrap: (store) => ({ ...store, mayEndLeases: () => mayEnd }),
  });
  const [one] = fleet.instances;
  const worker = await one.worker();
  const task = await one.task(worker);
  await one.lease(worker);
  mayEnd = false;
  await fleet.advance(40_000);
  assertEquals((await one.read(task)).status, "running");
  mayEnd = true;
  await fleet.advance(1_500);
  assertEquals((await one.history(task)).at(-1), "lost");
  await fleet.stop();
});

Deno.test("Notices tells nobody anything while the instance is alone", async () => {
  const told: Notice[] = [];
  const fleet = await openFleet({
    answer: () => answered(200) satisfies PushOutcome,
    wrap: (store, index) =>
      index !== 0 ? store : {
        ...store,
        tell: (notices) => {
          told.push(...notices);
          store.tell(notices);
        },
      },
  });
  const [one, two, three] = fleet.instances;
  await two.stop();
  await three.stop();
  await fleet.advance(3_000, [two, three]);
  told.length = 0;
  const worker = await one.worker();
  await one.task(worker);
  await one.complete((await one.lease(worker))[0]);
  await fleet.advance(1_000, [two, three]);
  // The cache of records tells by itself.
  assertEquals(told.filter(({ kind }) => kind !== "record"), []);
  await one.stop();
});
