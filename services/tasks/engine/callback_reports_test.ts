import { assertEquals, assertExists } from "@std/assert";
import type { Task } from "../domain/task.ts";
import type { LeaseProof, TaskEvent } from "../domain/task_event.ts";
import type { Transaction } from "../store/store.ts";
import type { EventOutcome } from "./changes.ts";
import { buildRemoval, sealTask } from "./task_writes.ts";
import { waitingTasks } from "./testing/samples.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
  type TestEngineOptions,
} from "./testing/test_engine.ts";
import { interceptStore } from "./testing/intercepted_store.ts";
import { internalTenant } from "./workers.ts";

interface Called extends TestEngine {
  /** The task that ended. */
  readonly origin: Task;
  /** The task of its callback. */
  readonly call: Task;
  /** Applies an event to the callback's task. */
  happens(event: TaskEvent): Promise<EventOutcome>;
}

/** Opens a running engine with a task whose end makes a callback. */
async function open(options: TestEngineOptions = {}): Promise<Called> {
  const world = await openTestEngine(options);
  const mailer = await world.worker();
  await world.engine.start();
  const origin = await world.task(mailer, {
    callback: { url: "https://owner.example/end", on: ["complete"] },
  });
  await world.complete((await world.lease(mailer))[0]);
  const [call] = await waitingTasks(world.store, internalTenant(TENANT_ID));
  assertExists(call);
  return {
    ...world,
    origin,
    call,
    happens: (event) =>
      world.engine.changes.apply({
        tenantId: internalTenant(TENANT_ID),
        id: call.id,
        event,
        actor: OWNER,
      }),
  };
}

function start({ parts: { instances } }: TestEngine): TaskEvent {
  const bootId = instances.id;
  return { kind: "start", tokenHash: "", leaseMs: 30_000, bootId };
}

/**
 * Lets a callback fail until it is given up, by a failure that no answer
 * causes.
 */
async function giveUp(
  world: Called,
  end: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const outcome = await world.happens(start(world));
    // The task of a reported callback is removed.
    if (outcome.kind === "missing") return;
    if (outcome.kind === "refused") {
      // The date of the next retry is days away by now.
      await world.happens({ kind: "retry" });
      continue;
    }
    await end();
  }
  throw new Error("the call is never given up");
}

Deno.test("CallbackReports tells the origin of a call whose time runs out each time", async () => {
  const world = await open();
  await giveUp(world, () => world.clock.advance(31_000));
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_failed"]);
});

Deno.test("CallbackReports tells the origin of a call whose server dies each time", async () => {
  const world = await open();
  await giveUp(world, async () => {
    const call = await world.store.task(
      internalTenant(TENANT_ID),
      world.call.id,
    );
    await world.happens({
      kind: "lose",
      lease: { id: call?.attempt?.id ?? "" },
      reason: "the server was restarted",
    });
  });
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_failed"]);
});

Deno.test("CallbackReports tells once of a call that was made, when the store can be written again", async () => {
  let fails = false;
  const world = await open({
    wrap: (store) =>
      interceptStore(store, {
        commit: (proceed) =>
          fails ? Promise.reject(new Error("no disk")) : proceed(),
      }),
  });
  await world.happens(start(world));
  const call = await world.store.task(internalTenant(TENANT_ID), world.call.id);
  const lease = { id: call?.attempt?.id ?? "" };
  // The report is the first write after the end of the callback.
  world.engine.changes.onChange(() => fails = true);
  await world.happens({ kind: "complete", lease });
  await world.clock.advance(1_000);
  assertEquals(await reports(world), []);
  fails = false;
  await world.clock.advance(5_000);
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_sent"]);
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("CallbackReports leaves no task of a call that was told of", async () => {
  const world = await open();
  const gone: (Task | undefined)[] = [];
  world.engine.changes.onChange(({ previous, next }) => {
    if (next === undefined) gone.push(previous);
  });
  await world.happens(start(world));
  await world.happens({ kind: "complete", lease: await findLease(world) });
  await world.engine.stop();
  assertEquals(await reports(world), ["callback_sent"]);
  assertEquals(await callCounts(world), {});
  assertEquals(gone.map((call) => [call?.id, call?.status]), [
    [world.call.id, "complete"],
  ]);
});

Deno.test("CallbackReports removes a call whose origin is gone", async () => {
  const world = await open();
  await world.happens(start(world));
  const origin = await world.read(world.origin);
  await world.store.commit([{ writes: [buildRemoval(origin)] }]);
  await world.happens({ kind: "complete", lease: await findLease(world) });
  await world.engine.stop();
  assertEquals(await callCounts(world), {});
  assertEquals(world.logger.listMessages("error"), []);
});

/**
 * When the process dies: at which commit after the end of the callback, and
 * before or after that commit is applied.
 */
const DEATHS: readonly (readonly [number, "before" | "after"])[] = [
  [0, "after"],
  [1, "before"],
  [1, "after"],
];

for (const [at, side] of DEATHS) {
  Deno.test(`CallbackReports tells once, by the next start, of a call whose server dies ${side} commit ${at}`, async () => {
    let commits = -Infinity;
    let isDead = false;
    const dying = await open({
      wrap: (store) =>
        interceptStore(store, {
          async commit(proceed) {
            const isHere = commits++ === at;
            if (isHere && side === "before") isDead = true;
            if (isDead) await new Promise<never>(() => {});
            const answer = await proceed();
            if (!isHere) return answer;
            isDead = true;
            return await new Promise<never>(() => {});
          },
        }),
    });
    const { store, clock } = dying;
    await addTenant(dying);
    await dying.happens(start(dying));
    commits = 0;
    void dying.happens({ kind: "complete", lease: await findLease(dying) });
    await clock.advance(1_000);
    assertEquals(isDead, true);
    dying.die();
    await store.leave(dying.parts.instances.id);
    const isTold = at === 1 && side === "after";
    assertEquals(await reports(dying), isTold ? ["callback_sent"] : []);
    for (let seed = 2; seed < 4; seed++) {
      const next = await openTestEngine({ store, clock, seed });
      await next.engine.start();
      await clock.advance(1_000);
      assertEquals(await reports(dying), ["callback_sent"]);
      assertEquals(await callCounts(dying), {});
      await clock.advance(120_000);
      await next.engine.stop();
      assertEquals(await reports(dying), ["callback_sent"]);
    }
  });
}

Deno.test("CallbackReports tells of all that was left behind, once each, whatever the conflicts", async () => {
  const before = await openTestEngine();
  // These are more tenants than one page holds, and the one with callbacks is
  // last.
  for (let count = 0; count < 1_100; count++) {
    await addTenant(before, `ten_${count}`);
  }
  await addTenant(before);
  const mailer = await before.worker();
  const origins: Task[] = [];
  for (let count = 0; count < 450; count++) {
    const origin = await before.task(mailer, {
      callback: { url: "https://owner.example/end", on: ["canceled"] },
    });
    origins.push(origin);
    await before.apply(origin, { kind: "cancel" });
  }
  const tenantId = internalTenant(TENANT_ID);
  const tasks = await waitingTasks(before.store, tenantId);
  // No listener hears of these changes, as if the server had died each time.
  await before.store.commit(tasks.map((call, index): Transaction => ({
    writes: [
      sealTask({
        ...call,
        version: call.version + 1,
        isDue: false,
        status: index % 2 === 0 ? "complete" : "failed",
      }, { drafts: [], expectedVersion: call.version }).write,
    ],
  })));
  const { store, clock } = before;
  const after = await openTestEngine({
    store,
    clock,
    seed: 2,
    trouble: { conflictShare: 0.3, failureShare: 0.1 },
  });
  await after.engine.start();
  for (let minutes = 0; minutes < 20; minutes++) await clock.advance(60_000);
  await after.engine.stop();
  assertEquals(await store.counts({ tenantId }), {});
  const told: string[] = [];
  for (const origin of origins) {
    const types = await before.history(origin);
    told.push(types.filter((type) => type.startsWith("callback")).join());
  }
  const count = (type: string) => told.filter((one) => one === type).length;
  assertEquals([count("callback_sent"), count("callback_failed")], [225, 225]);
});

Deno.test("CallbackReports finds within a minute a call of whose end nobody heard", async () => {
  const world = await open({ trouble: {} });
  await world.clock.advance(61_000);
  await world.happens(start(world));
  const { tenantId, id } = world.call;
  const call = await world.store.task(tenantId, id);
  assertExists(call);
  // The commit is written, but its answer is lost; and the tenant has no
  // record.
  await world.store.commit([{
    writes: [
      sealTask({
        ...call,
        version: call.version + 1,
        status: "complete",
      }, { drafts: [], expectedVersion: call.version }).write,
    ],
  }]);
  assertEquals(await reports(world), []);
  await world.clock.advance(60_000);
  assertEquals(await reports(world), ["callback_sent"]);
  await world.engine.stop();
  assertEquals(world.clock.pendingTimers, 0);
});

/** Adds the record of a tenant, by which the next start finds it. */
async function addTenant(
  { parts, store, clock }: TestEngine,
  id = TENANT_ID,
): Promise<void> {
  const nowMs = clock.nowMs();
  await store.commit([{
    writes: [parts.repositories.tenants.insert({
      id,
      version: 1,
      domain: id,
      status: "active",
      plan: "",
      timezone: "UTC",
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    })],
  }]);
}

async function findLease({ store, call }: Called): Promise<LeaseProof> {
  const now = await store.task(call.tenantId, call.id);
  return { id: now?.attempt?.id ?? "" };
}

/** The counts of the tenant's remaining callbacks. */
async function callCounts({ store }: TestEngine): Promise<unknown> {
  return await store.counts({ tenantId: internalTenant(TENANT_ID) });
}

async function reports(world: Called): Promise<readonly string[]> {
  const types = await world.history(world.origin);
  return types.filter((type) => type.startsWith("callback"));
}
