import { assertEquals } from "@std/assert";
import type { RepeatRule, Task } from "../domain/task.ts";
import { waitingTasks } from "./testing/samples.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";

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
