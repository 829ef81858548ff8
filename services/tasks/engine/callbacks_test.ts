import { assertEquals, assertExists } from "@std/assert";
import type { Task, TaskCallback } from "../domain/task.ts";
import { callbackDataOf } from "./callbacks.ts";
import { waitingTasks } from "./testing/samples.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";
import { internalTenant } from "./workers.ts";

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
    assertEquals(callbackDataOf(call), {
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
  const made = (await calls(world)).map(callbackDataOf);
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
  const { type, taskId } = callbackDataOf(call);
  assertEquals([type, taskId], ["task.expired", task.id]);
  assertEquals(heard.slice(0, 2), [task.id, call.id]);
});
