import { assert, assertEquals, assertExists } from "@std/assert";
import type { PushOutcome } from "../delivery/push_answer.ts";
import type { HistoryDraft } from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import { PushPermits } from "./push.ts";
import { interceptStore, slowCommits } from "./testing/intercepted_store.ts";
import {
  answered,
  openTestPush,
  parseBody,
  type TestPush,
} from "./testing/test_push.ts";

Deno.test("Push calls a worker as soon as its task is due", async () => {
  const world = await openTestPush({ answer: () => answered(200) });
  const worker = await world.pushWorker();
  await world.start();
  const soon = await world.task(worker);
  await world.clock.advance(0);
  assertEquals((await world.read(soon)).status, "complete");
  const dateMs = world.clock.nowMs() + 7_777;
  const later = await world.task(worker, { dateMs });
  await world.clock.advance(7_777);
  assertEquals((await world.read(later)).status, "complete");
  assertEquals(world.calls.map(({ atMs }) => atMs).at(-1), dateMs);
  await world.stop();
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("Push begins with the tasks that are there", async () => {
  const world = await openTestPush({ answer: () => answered(200) });
  const worker = await world.pushWorker();
  for (let index = 0; index < 20; index++) await world.task(worker);
  await world.start();
  await world.clock.advance(10);
  assertEquals(world.calls.length, 20);
  await world.stop();
});

Deno.test("Push never has more calls under way than it may, whoever's they are", async () => {
  const gate = Promise.withResolvers<PushOutcome>();
  let most = 0;
  const world = await openTestPush({
    maxInFlight: 5,
    wrap: slowCommits,
    answer: () => gate.promise,
  });
  const workers = [];
  for (const name of ["a", "b", "c", "d"]) {
    workers.push(await world.pushWorker({ name }));
  }
  for (const worker of workers) {
    for (let index = 0; index < 10; index++) await world.task(worker);
  }
  await world.start();
  for (let round = 0; round < 10; round++) {
    await world.clock.advance(1_000);
    most = Math.max(most, world.calls.length);
  }
  assertEquals([most, world.push.inFlight], [5, 5]);
  gate.resolve(answered(200));
  await world.clock.advance(10_000);
  assertEquals(world.calls.length, 40);
  assertEquals(world.push.inFlight, 0);
  await world.stop();
});

Deno.test("Push keeps a worker's own bound, and its slots when the store fails", async () => {
  let fails = 0;
  const waiting: ((outcome: PushOutcome) => void)[] = [];
  const world = await openTestPush({
    maxInFlight: 3,
    wrap: (store) =>
      interceptStore(store, {
        commit: (proceed) =>
          fails-- > 0 ? Promise.reject(new Error("no disk")) : proceed(),
      }),
    answer: () => new Promise((resolve) => waiting.push(resolve)),
  });
  const worker = await world.pushWorker({ concurrency: 2 });
  for (let index = 0; index < 6; index++) await world.task(worker);
  fails = 4;
  await world.start();
  await world.clock.advance(10_000);
  assertEquals(world.calls.length, 2);
  while (waiting.length > 0) {
    for (const answer of waiting.splice(0)) answer(answered(200));
    await world.clock.advance(2_000);
  }
  assertEquals(world.calls.length, 6);
  await world.stop();
});

Deno.test("Push ends the call of a task that is canceled", async () => {
  const world = await openTestPush({
    answer: () => new Promise<PushOutcome>(() => {}),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker);
  await world.clock.advance(10);
  assertEquals(world.push.inFlight, 1);
  await world.apply(made, { kind: "cancel" });
  await world.clock.advance(0);
  assertEquals(world.push.inFlight, 0);
  assert(world.calls[0]?.signal?.aborted);
  assertEquals((await world.read(made)).status, "canceled");
  assertEquals(await world.history(made), ["created", "started", "canceled"]);
  await world.stop();
});

Deno.test("Push.stop() waits for calls, then gives their tasks back without an attempt spent", async () => {
  const quick = Promise.withResolvers<PushOutcome>();
  const world = await openTestPush({
    answer: (request) =>
      parseBody(request).data.run === 0 && request.url.includes("quick")
        ? quick.promise
        : new Promise<PushOutcome>(() => {}),
  });
  const fast = await world.pushWorker({ url: "https://quick.example/" });
  const slow = await world.pushWorker({ name: "slow" });
  await world.start();
  const done = await world.task(fast);
  const open = await world.task(slow, { retry: null });
  await world.clock.advance(10);
  assertEquals(world.push.inFlight, 2);
  world.clock.setTimer(() => quick.resolve(answered(200)), 1_000);
  await world.stop(5_000);
  assertEquals((await world.read(done)).status, "complete");
  const { status, executions, retries, lost } = await world.read(open);
  assertEquals([status, executions, retries, lost], ["waiting", 0, 0, 0]);
  assertEquals(await world.history(open), ["created", "started", "released"]);
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("Push.stop() begins no call that was being claimed", async () => {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const world = await openTestPush({
    wrap: (store) =>
      interceptStore(store, {
        async commit(proceed) {
          if (isHeld) await gate.promise;
          return await proceed();
        },
      }),
    answer: () => answered(200),
  });
  const worker = await world.pushWorker();
  await world.start();
  // The next commit is the claim.
  world.engine.changes.onChange(({ previous }) =>
    isHeld = previous === undefined
  );
  const made = await world.task(worker);
  await world.clock.advance(1);
  assertEquals([isHeld, world.push.inFlight], [true, 1]);
  const stopping = world.stop();
  gate.resolve();
  await stopping;
  assertEquals(world.calls.length, 0);
  const { status, executions } = await world.read(made);
  assertEquals([status, executions], ["waiting", 0]);
  assertEquals(await world.history(made), ["created", "started", "released"]);
});

Deno.test("Push leaves the tasks of a worker alone that asks for them by now", async () => {
  const world = await openTestPush({ answer: () => answered(200) });
  const worker = await world.pushWorker();
  await world.start();
  await world.task(worker);
  await world.clock.advance(10);
  assertEquals(world.calls.length, 1);
  await world.changeWorker(worker, { kind: "pull" });
  const made = await world.task(worker);
  await world.clock.advance(10_000);
  assertEquals(world.calls.length, 1);
  assertEquals((await world.read(made)).status, "waiting");
  const [grant] = await world.lease(worker);
  assertEquals(grant?.task.id, made.id);
  await world.stop();
});

Deno.test("Push does not call a paused worker, and calls it when it is resumed", async () => {
  const world = await openTestPush({ answer: () => answered(200) });
  const worker = await world.pushWorker({ isPaused: true });
  await world.start();
  await world.task(worker);
  await world.clock.advance(20_000);
  assertEquals(world.calls.length, 0);
  await world.changeWorker(worker, { isPaused: false });
  await world.clock.advance(6_000);
  assertEquals(world.calls.length, 1);
  await world.stop();
});

Deno.test("Push calls back at once at the end of a task, and tells its history", async () => {
  const world = await openTestPush({
    answer: (request) =>
      request.url.startsWith("https://owner.example/")
        ? answered(202, { leaseMs: 60_000 })
        : answered(200),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker, {
    callback: { url: "https://owner.example/end", on: ["complete"] },
  });
  await world.clock.advance(10);
  const [, call] = world.calls;
  assertEquals(call?.url, "https://owner.example/end");
  assertEquals(parseBody(call).type, "task.completed");
  assertEquals(parseBody(call).data.task.id, made.id);
  assertEquals(call?.headers["task-id"], made.id);
  const { type, message, http } = await lastRecord(world, made);
  assertEquals([type, message], [
    "callback_sent",
    "Called back at the first attempt",
  ]);
  assertEquals(http, { status: 202, durationMs: 5 });
  await world.stop();
});

Deno.test("Push tells when a call back was given up", async () => {
  const world = await openTestPush({
    answer: (request) =>
      answered(request.url.startsWith("https://owner") ? 410 : 200),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker, {
    callback: { url: "https://owner.example/end", on: ["complete"] },
  });
  await world.clock.advance(10);
  const { type, message, http } = await lastRecord(world, made);
  assertEquals([type, message], [
    "callback_failed",
    "Cannot call back: the receiver answered 410",
  ]);
  assertEquals(http, { status: 410, durationMs: 5 });
  assertEquals((await world.read(made)).status, "complete");
  await world.stop();
});

Deno.test("Push tells at which attempt it called back, and what was answered then", async () => {
  let calls = 0;
  const world = await openTestPush({
    answer: (request) =>
      answered(
        request.url.startsWith("https://owner") && ++calls < 3 ? 503 : 200,
      ),
  });
  const worker = await world.pushWorker();
  await world.start();
  const made = await world.task(worker, {
    callback: { url: "https://owner.example/end", on: ["complete"] },
  });
  await world.clock.advance(10);
  await world.clock.advance(3_600_000);
  const { message, http } = await lastRecord(world, made);
  assertEquals(message, "Called back at attempt 3");
  assertEquals(http, { status: 200, durationMs: 5 });
  await world.stop();
});

async function lastRecord(
  { store }: TestPush,
  { tenantId, id: taskId }: Task,
): Promise<HistoryDraft> {
  const { records: [last] } = await store.history({
    tenantId,
    taskId,
    order: "desc",
    limit: 1,
  });
  assertExists(last);
  return JSON.parse(last.text);
}

Deno.test("PushPermits gives everything to the only one who wants it", () => {
  const permits = new PushPermits(4);
  assertEquals(permits.free("a"), 4);
  for (let count = 0; count < 4; count++) permits.take("a", 1);
  assertEquals([permits.inUse, permits.free("a")], [4, 0]);
  assert(permits.takeScarcity());
  assertEquals(permits.takeScarcity(), false);
  permits.release("a", 1);
  assertEquals(permits.free("a"), 1);
});

Deno.test("PushPermits lets nobody take more than a share when there are others", () => {
  const permits = new PushPermits(4);
  permits.take("a", 1);
  permits.take("a", 1);
  permits.take("a", 1);
  assertEquals(permits.free("b"), 1);
  permits.take("b", 1);
  assertEquals([permits.free("a"), permits.free("b")], [0, 0]);
  permits.release("a", 1);
  assertEquals([permits.free("a"), permits.free("b")], [0, 1]);
  permits.take("b", 1);
  assertEquals(permits.inUse, 4);
});

Deno.test("PushPermits has a slot in time for each of many tenants", () => {
  const permits = new PushPermits(2);
  for (const tenant of ["a", "b"]) permits.take(tenant, 1);
  assertEquals(permits.free("c"), 0);
  permits.release("a", 1);
  assertEquals(permits.free("c"), 1);
});
