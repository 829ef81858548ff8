import { BLANK_TASK, type Task } from "../domain/task.ts";
import { leaseHolder, RecentTasks, taskOfLease } from "./leases.ts";
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("Leases.report() takes the same outcome twice, and no other one", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const first = await world.complete(grant);
  assertEquals([first.kind, first.kind === "ok" && first.isRepeated], [
    "ok",
    false,
  ]);
  const again = await world.complete(grant);
  assertEquals([again.kind, again.kind === "ok" && again.isRepeated], [
    "ok",
    true,
  ]);
  assertEquals((await world.fail(grant)).kind, "lease_gone");
  assertEquals(
    (await world.say(grant, (lease) => ({ kind: "release", lease }))).kind,
    "lease_gone",
  );
  const task = await world.read(made);
  assertEquals([task.status, task.executions], ["complete", 1]);
});

Deno.test("Leases.reportAll() takes the same outcome twice in one go, and once in effect", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const holder = {
    tenantId: TENANT_ID,
    leaseId: grant?.task.attempt?.id ?? "",
    token: grant?.token ?? "",
  };
  const report = {
    holder: leaseHolder(holder),
    event: (lease: { readonly id: string }) => ({
      kind: "complete" as const,
      lease,
    }),
  };
  const outcomes = await world.engine.leases.reportAll([
    report,
    {
      ...report,
      holder: leaseHolder({ ...holder, leaseId: "lse_nonsense" }),
    },
    report,
  ]);
  assertEquals(outcomes.map(({ kind }) => kind), ["ok", "missing", "ok"]);
  assertEquals((await world.read(made)).executions, 1);
});

Deno.test("Leases.report() refuses a wrong token, another's lease and another tenant", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.task(mailer);
  await world.task(mailer);
  const [one, two] = await world.lease(mailer, { max: 2 });
  assert(one !== undefined && two !== undefined);
  assertNotEquals(one.token, two.token);
  assertEquals(
    (await world.complete({ ...one, token: two.token })).kind,
    "lease_gone",
  );
  assertEquals(
    (await world.complete({ ...one, token: "" })).kind,
    "lease_gone",
  );
  const other = await world.engine.leases.report({
    holder: leaseHolder({
      tenantId: "ten_other",
      leaseId: one.task.attempt?.id ?? "",
      token: one.token,
    }),
    event: (lease) => ({ kind: "complete", lease }),
  });
  assertEquals(other.kind, "missing");
  assertEquals((await world.read(one.task)).status, "running");
  assertEquals((await world.complete(one)).kind, "ok");
});

Deno.test("Leases.report() keeps no token that could be stolen from the store", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const kept = JSON.stringify(await world.read(made));
  assert(grant !== undefined && grant.token.length > 40);
  assertEquals(kept.includes(grant.token), false);
});

Deno.test("Leases.report() tells a worker at its next sign of life that its task was canceled", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ timeoutMs: 10_000, leaseMs: 30_000 });
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const beat = () =>
    world.say(grant, (lease) => ({ kind: "heartbeat", lease }));
  // The lease ends with the deadline, so a heartbeat cannot extend it.
  assertEquals((await beat()).kind, "ok");
  await world.apply(made, { kind: "cancel" });
  const told = await beat();
  assert(told.kind === "lease_gone" && told.isCanceled);
  const guessed = await world.engine.leases.report({
    holder: leaseHolder({
      tenantId: TENANT_ID,
      leaseId: grant?.task.attempt?.id ?? "",
      token: "lt_guess",
    }),
    event: (lease) => ({ kind: "heartbeat", lease }),
  });
  assert(guessed.kind === "lease_gone" && !guessed.isCanceled);
  const late = await world.complete(grant);
  assert(late.kind === "lease_gone" && late.isCanceled);
  assertEquals((await world.read(made)).status, "canceled");
});

Deno.test("Leases.report() tells of a cancellation that another process wrote", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ timeoutMs: 10_000, leaseMs: 30_000 });
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const { store, clock } = world;
  const other = await openTestEngine({ store, clock });
  await other.apply(made, { kind: "cancel" });
  const told = await world.say(
    grant,
    (lease) => ({ kind: "heartbeat", lease }),
  );
  assert(told.kind === "lease_gone" && told.isCanceled);
});

Deno.test("Leases.report() extends a lease, keeps its progress and its words", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.engine.start();
  const made = await world.task(mailer, { timeoutMs: 100_000 });
  const [grant] = await world.lease(mailer);
  for (let beat = 1; beat <= 3; beat++) {
    await world.clock.advance(20_000);
    const outcome = await world.say(grant, (lease) => ({
      kind: "heartbeat",
      lease,
      progressJson: `${beat}`,
    }));
    assertEquals(outcome.kind, "ok");
  }
  await world.say(
    grant,
    (lease) => ({ kind: "log", lease, lines: ["a", "b"] }),
  );
  const task = await world.read(made);
  assertEquals([task.status, task.attempt?.progressJson], ["running", "3"]);
  assertEquals(await world.history(made), [
    "created",
    "started",
    "progress",
    "progress",
    "progress",
    "log",
  ]);
  assertEquals((await world.complete(grant)).kind, "ok");
  await world.engine.stop();
});

Deno.test("Leases.report() gives a task back with a delay and without an attempt spent", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer, { retry: null });
  const [grant] = await world.lease(mailer);
  await world.say(grant, (lease) => ({
    kind: "release",
    lease,
    delayMs: 5_000,
  }));
  assertEquals(await world.lease(mailer), []);
  await world.engine.start();
  const waiting = world.lease(mailer, { waitMs: 10_000 });
  await world.clock.advance(5_000);
  const [again] = await waiting;
  assertEquals(again?.task.id, made.id);
  await world.complete(again);
  const task = await world.read(made);
  assertEquals([task.executions, task.retries, task.fence], [1, 0, 2]);
  await world.engine.stop();
});

Deno.test("Leases.report() ends in failure after too many lost workers, and says why", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker({ maxLost: 2 });
  await world.engine.start();
  const made = await world.task(mailer, { retry: null });
  for (let attempt = 0; attempt < 3; attempt++) {
    const [grant] = await world.lease(mailer, { waitMs: 5_000 });
    assertEquals(grant?.task.fence, attempt + 1);
    await world.clock.advance(31_000);
  }
  const task = await world.read(made);
  assertEquals([task.status, task.lost, task.executions], ["failed", 3, 1]);
  assertEquals(task.error?.code, "worker_lost");
  await world.engine.stop();
});

Deno.test("Leases.lease() sees a worker, and waiting is what counts", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const of = { tenantId: TENANT_ID, workerId: mailer.id };
  assertEquals(world.engine.liveness.of(of), undefined);
  await world.lease(mailer, { instance: "host-1" });
  const seenAtMs = world.clock.nowMs();
  await world.clock.advance(1_000);
  assertEquals(world.engine.liveness.of(of)?.lastSeenAtMs, seenAtMs);
  assertEquals(
    new Map(world.engine.liveness.of(of)?.instances).get("host-1"),
    seenAtMs,
  );
});

Deno.test("Leases.stop() lets all who wait go home", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.engine.start();
  const waiting = [1, 2, 3].map(() => world.lease(mailer, { waitMs: 30_000 }));
  await world.clock.advance(100);
  await world.engine.stop();
  assertEquals(await Promise.all(waiting), [[], [], []]);
  assertEquals(await world.lease(mailer, { waitMs: 30_000 }), []);
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("Leases refuses a second completion after the task was handed to another", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.engine.start();
  const made = await world.task(mailer);
  const [zombie] = await world.lease(mailer);
  await world.clock.advance(31_000);
  const [second] = await world.lease(mailer, { waitMs: 1_000 });
  assert(second !== undefined && zombie !== undefined);
  assert(second.task.fence > zombie.task.fence);
  assertEquals((await world.complete(zombie)).kind, "lease_gone");
  assertEquals((await world.read(made)).status, "running");
  assertEquals((await world.complete(second)).kind, "ok");
  assertEquals((await world.complete(zombie)).kind, "lease_gone");
  await world.engine.stop();
});

Deno.test("Leases.lease() gives nothing to who may have no tasks any more, and all to the others", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  let may = true;
  let asked = 0;
  const wish = {
    waitMs: 10_000,
    isStillAuthorized: () => {
      asked++;
      return Promise.resolve(may);
    },
  };
  const revoked = world.lease(mailer, wish);
  const other = world.lease(mailer, { waitMs: 10_000 });
  await world.clock.advance(1_000);
  assertEquals(asked, 0);
  may = false;
  const made = await world.task(mailer);
  assertEquals(await revoked, []);
  assertEquals((await other).map(({ task }) => task.id), [made.id]);
  may = true;
  const allowed = world.lease(mailer, wish);
  await world.clock.advance(1_000);
  const next = await world.task(mailer);
  assertEquals((await allowed).map(({ task }) => task.id), [next.id]);
  // The check runs once for each time that there were tasks to hand out.
  assertEquals(asked, 2);
  assertEquals(await world.history(made), ["created", "started"]);
});

Deno.test("Leases.isHeldBy() knows who holds what was handed out, and nobody else", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.task(mailer);
  const [grant] = await world.lease(mailer);
  const { leases } = world.engine;
  const holder = {
    tenantId: TENANT_ID,
    leaseId: grant?.task.attempt?.id ?? "",
    token: grant?.token ?? "",
  };
  assertEquals(leases.isHeldBy(leaseHolder(holder)), true);
  for (
    const other of [
      { token: "lt_guess" },
      { tenantId: "ten_other" },
      { leaseId: holder.leaseId.replace(/_1$/, "_2") },
      { leaseId: "nothing" },
    ]
  ) {
    assertEquals(leases.isHeldBy(leaseHolder({ ...holder, ...other })), false);
  }
  await world.complete(grant);
  assertEquals(leases.isHeldBy(leaseHolder(holder)), false);
});

Deno.test("Leases.lease() fails when tasks could not be claimed, and waits for the next look when it may", async () => {
  let isFull = false;
  const world = await openTestEngine({
    wrap: (store) =>
      interceptStore(store, {
        async commit(proceed) {
          if (isFull) throw new StoreFailedError("Cannot write: disk is full");
          return await proceed();
        },
      }),
  });
  const mailer = await world.worker();
  isFull = true;
  // There is no task to claim, so nothing has to be written.
  assertEquals(await world.lease(mailer), []);
  isFull = false;
  const made = await world.task(mailer);
  isFull = true;
  const refused = () => world.lease(mailer, { waitMs: 0 });
  await assertRejects(refused, StoreFailedError, "disk is full");
  const late = world.lease(mailer, { waitMs: 5_000 });
  const failing = assertRejects(() => late, StoreFailedError, "disk is full");
  await world.clock.advance(6_000);
  await failing;
  const lucky = world.lease(mailer, { waitMs: 5_000 });
  await world.clock.advance(2_000);
  isFull = false;
  await world.clock.advance(6_000);
  assertEquals((await lucky).map(({ task }) => task.id), [made.id]);
});

Deno.test("taskOfLease() gives the task of a lease, and of nothing else", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const made = await world.task(mailer);
  const [grant] = await world.lease(mailer);
  assertEquals(taskOfLease(grant?.task.attempt?.id ?? ""), made.id);
  const id = made.id.slice(4);
  for (
    const bad of [
      "",
      id,
      `lse_${id}`,
      `lse_${id}_0`,
      `lse_${id}_01`,
      `lse_${id}_1x`,
      `lse_${id}_99999999999999999`,
      `lse_${id.toUpperCase()}_1`,
      `lse_${id}_1\n`,
    ]
  ) assertEquals(taskOfLease(bad), undefined, JSON.stringify(bad));
});

Deno.test("RecentTasks remembers a task as it was last written, while it runs", async () => {
  const { worker, task } = await openTestEngine();
  const made = await task(await worker());
  const recent = new RecentTasks();
  const running = { ...made, status: "running" as const };
  recent.update(running);
  assertEquals(recent.get(made.id), undefined);
  recent.add(running);
  recent.update({ ...running, version: 2 });
  assertEquals(recent.get(made.id)?.version, 2);
  recent.update({ ...made, version: 3 });
  assertEquals(recent.get(made.id), undefined);
});

Deno.test("RecentTasks forgets a task that is sent long events while it runs", () => {
  const recent = new RecentTasks();
  const running: Task = { ...BLANK_TASK, id: "tsk_1", status: "running" };
  recent.add(running);
  const events = [{
    name: "go",
    dataJson: "x".repeat(5_000),
    atMs: 0,
    by: BLANK_TASK.createdBy,
  }];
  recent.update({ ...running, version: 2, wait: { events } });
  assertEquals(recent.get("tsk_1"), undefined);
});

Deno.test("RecentTasks keeps neither big tasks nor too many", async () => {
  const { worker, task } = await openTestEngine();
  const made = await task(await worker());
  const recent = new RecentTasks();
  recent.add({ ...made, dataJson: `"${"x".repeat(5_000)}"` });
  assertEquals(recent.get(made.id), undefined);
  for (let index = 0; index <= 20_000; index++) {
    recent.add({ ...made, id: `tsk_${index}` });
  }
  assertEquals(recent.get("tsk_0"), undefined);
  assertEquals(recent.get("tsk_1")?.id, "tsk_1");
});
