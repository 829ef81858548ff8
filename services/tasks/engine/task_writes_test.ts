import { assertEquals, assertExists } from "@std/assert";
import type { RepeatRule, Task, TaskCallback } from "../domain/task.ts";
import { parseCallbackData } from "./task_writes.ts";
import { waitingTasks } from "./testing/samples.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";
import { internalTenant } from "./workers.ts";

const EACH_MINUTE: RepeatRule = {
  interval: "PT1M",
  limit: 3,
  catchUp: "all",
  catchUpWindowMs: 86_400_000,
  jitterMs: 0,
  mode: "spawn",
  onFailure: "stop",
};

async function children(
  { store }: TestEngine,
  parent: Task,
): Promise<readonly Task[]> {
  const tasks = await waitingTasks(store, TENANT_ID);
  return tasks.filter(({ parentId }) => parentId === parent.id);
}

Deno.test("A schedule makes a task of its own for each slot, with all it has but repetition and key", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.engine.start();
  const parent = await world.task(mailer, {
    repeat: EACH_MINUTE,
    key: "nightly",
    dataJson: '{"a":1}',
    group: "g",
    priority: 3,
    tags: ["t"],
  });
  await world.clock.advance(300_000);
  const made = await children(world, parent);
  assertEquals(
    made.map(({ firstDateMs }) => firstDateMs - parent.firstDateMs),
    [0, 60_000, 120_000, 180_000],
  );
  for (const child of made) {
    assertEquals([child.repeat, child.key], [undefined, undefined]);
    assertEquals(
      [child.dataJson, child.group, child.priority, child.tags],
      ['{"a":1}', "g", 3, ["t"]],
    );
    assertEquals(await world.history(child), ["created"]);
  }
  assertEquals((await world.read(parent)).status, "complete");
  await world.engine.stop();
});

Deno.test("A schedule makes each task once when commits meet conflicts", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = await openTestEngine({
      seed,
      trouble: { conflictShare: 0.5 },
    });
    const mailer = await world.worker();
    const parent = await world.task(mailer, { repeat: EACH_MINUTE });
    await world.engine.start();
    await world.clock.advance(300_000);
    assertEquals((await children(world, parent)).length, 4);
    await world.engine.stop();
  }
});

Deno.test("A schedule makes all tasks of a long outage, in bites", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const parent = await world.task(mailer, {
    repeat: { ...EACH_MINUTE, limit: 349 },
  });
  await world.clock.advance(86_400_000);
  await world.engine.start();
  await world.clock.advance(1_000);
  const made = await children(world, parent);
  assertEquals(made.length, 350);
  assertEquals(new Set(made.map(({ dateMs }) => dateMs)).size, 350);
  await world.engine.stop();
});

Deno.test("A schedule's tasks reach a worker that waits", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  await world.engine.start();
  const dateMs = world.clock.nowMs() + 10_000;
  const parent = await world.task(mailer, { repeat: EACH_MINUTE, dateMs });
  const waiting = world.lease(mailer, { waitMs: 30_000 });
  await world.clock.advance(10_000);
  const [grant] = await waiting;
  assertEquals(grant?.task.parentId, parent.id);
  assertEquals(grant?.task.startedAtMs, dateMs);
  assertEquals(
    await world.store.task(TENANT_ID, parent.id) !== undefined,
    true,
  );
  await world.engine.stop();
});

Deno.test("A schedule makes as many tasks as the plan has room for and misses the others", async () => {
  const world = await openTestEngine({ limits: { activeTasks: 150 } });
  const mailer = await world.worker();
  const { limit: _limit, ...forever } = EACH_MINUTE;
  const parent = await world.task(mailer, { repeat: forever });
  await world.clock.advance(86_400_000);
  await world.engine.start();
  await world.clock.advance(1_000);
  const counted = await world.store.counts({ tenantId: TENANT_ID });
  assertEquals(counted, { scheduled: 1, waiting: 149 });
  assertEquals((await children(world, parent)).length, 149);
  const { missed, dateMs } = await world.read(parent);
  assertEquals(missed, 1_441 - 149);
  assertEquals(dateMs, parent.firstDateMs + 1_441 * 60_000);
  const [last] = (await world.store.history({
    tenantId: TENANT_ID,
    taskId: parent.id,
    types: ["missed"],
    order: "desc",
    limit: 1,
  })).records;
  const { amount, message } = JSON.parse(last?.text ?? "{}");
  assertEquals([amount, message], [
    1_441 - 149,
    "the plan has no room for more active tasks",
  ]);
  await world.engine.stop();
});

Deno.test("Schedules that are due together share the room, and have it again when tasks end", async () => {
  const world = await openTestEngine({
    limits: { activeTasks: 5 },
    trouble: { conflictShare: 0.3 },
  });
  const mailer = await world.worker();
  const { limit: _limit, ...forever } = EACH_MINUTE;
  const parents: Task[] = [];
  for (let count = 0; count < 3; count++) {
    const dateMs = world.clock.nowMs() + 60_000;
    parents.push(await world.task(mailer, { repeat: forever, dateMs }));
  }
  await world.engine.start();
  const made = async () => {
    const each = await Promise.all(
      parents.map((parent) => children(world, parent)),
    );
    return each.flat();
  };
  await world.clock.advance(60_000);
  const first = await made();
  assertEquals(first.length, 2);
  for (const task of first) await world.apply(task, { kind: "cancel" });
  await world.clock.advance(60_000);
  assertEquals((await made()).length, 2);
  await world.engine.stop();
});

const ALL: TaskCallback = {
  url: "https://owner.example/end",
  on: ["complete", "failed", "canceled", "expired"],
};

function calls({ store }: TestEngine): Promise<readonly Task[]> {
  return waitingTasks(store, internalTenant(TENANT_ID));
}

Deno.test("A task's end makes one call, which the tenant does not see", async () => {
  const ends: readonly (readonly [
    string,
    (world: TestEngine, task: Task) => Promise<unknown>,
  ])[] = [
    ["task.completed", async (world, { workerId }) => {
      const worker = await world.parts.workers.get(TENANT_ID, workerId);
      assertExists(worker);
      await world.complete((await world.lease(worker))[0]);
    }],
    ["task.failed", async (world, { workerId }) => {
      const worker = await world.parts.workers.get(TENANT_ID, workerId);
      assertExists(worker);
      await world.fail((await world.lease(worker))[0]);
    }],
    ["task.canceled", (world, task) => world.apply(task, { kind: "cancel" })],
    ["task.expired", async (world, task) => {
      await world.clock.advance(60_000);
      await world.apply(task, { kind: "wake" });
    }],
  ];
  for (const [type, end] of ends) {
    const world = await openTestEngine({ trouble: { conflictShare: 0.4 } });
    const mailer = await world.worker();
    const task = await world.task(mailer, {
      callback: ALL,
      retry: null,
      expiresAtMs: world.clock.nowMs() + 60_000,
    });
    await end(world, task);
    const made = await calls(world);
    assertEquals(made.length, 1, type);
    const [call] = made;
    assertExists(call);
    assertEquals(call.tenantId, internalTenant(TENANT_ID));
    assertEquals(parseCallbackData(call), {
      url: ALL.url,
      type,
      tenantId: TENANT_ID,
      taskId: task.id,
      workerId: mailer.id,
      run: 0,
    });
    const listed = await world.store.listTasks({
      tenantId: TENANT_ID,
      by: "date",
      sort: "date",
      order: "asc",
      limit: 100,
    });
    assertEquals(listed.tasks.map(({ id }) => id), [task.id]);
    assertEquals(await world.store.task(TENANT_ID, call.id), undefined);
    assertEquals(
      (await world.apply({ id: call.id }, { kind: "cancel" })).kind,
      "missing",
    );
  }
});

Deno.test("A task's end makes no call that nobody asked for", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const task = await world.task(mailer, {
    callback: { ...ALL, on: ["failed"] },
  });
  await world.apply(task, { kind: "pause" });
  await world.apply(task, { kind: "resume" });
  await world.complete((await world.lease(mailer))[0]);
  assertEquals(await calls(world), []);
});

Deno.test("A task that is opened again calls again at its next end", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const task = await world.task(mailer, { callback: ALL });
  await world.apply(task, { kind: "cancel" });
  await world.apply(task, { kind: "retry" });
  await world.complete((await world.lease(mailer))[0]);
  const made = (await calls(world)).map(parseCallbackData);
  assertEquals(made.map(({ type, run }) => [type, run]), [
    ["task.canceled", 0],
    ["task.completed", 1],
  ]);
});

Deno.test("A task that has expired as it is made calls, if it was asked to", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const expiresAtMs = world.clock.nowMs() - 1;
  const heard: (string | undefined)[] = [];
  world.engine.changes.onChange(({ next }) => heard.push(next?.id));
  const task = await world.task(mailer, { expiresAtMs, callback: ALL });
  await world.task(mailer, {
    expiresAtMs,
    callback: { ...ALL, on: ["failed"] },
  });
  assertEquals(task.status, "expired");
  const [call, ...others] = await calls(world);
  assertExists(call);
  assertEquals(others, []);
  const { type, taskId } = parseCallbackData(call);
  assertEquals([type, taskId], ["task.expired", task.id]);
  assertEquals(heard.slice(0, 2), [task.id, call.id]);
});
