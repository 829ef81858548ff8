import { assertEquals } from "@std/assert";
import type { RepeatRule, Task } from "../domain/task.ts";
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
  const { tasks } = await store.scan({ statuses: ["waiting"], limit: 10_000 });
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
