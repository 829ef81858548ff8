import { BLANK_DEFINITION, type TaskDefinition } from "../domain/task.ts";
import { assertEquals, assertExists } from "@std/assert";
import type { NewTaskRequest } from "./creation.ts";
import { waitingTasks } from "./testing/samples.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";

async function requestOf(
  world: TestEngine,
  patch: Partial<TaskDefinition> = {},
): Promise<NewTaskRequest> {
  const worker = await world.parts.workers.find(TENANT_ID, "mailer") ??
    await world.worker();
  return {
    tenantId: TENANT_ID,
    worker,
    definition: {
      ...BLANK_DEFINITION,
      workerId: worker.id,
      ...patch,
    },
    isPaused: false,
    actor: OWNER,
  };
}

Deno.test("Creation.write() writes tasks together or not at all, and tells which did not fit", async () => {
  const world = await openTestEngine();
  const { creation } = world.engine;
  const plain = await requestOf(world);
  const keyed = await requestOf(world, { key: "k" });
  const first = await creation.prepare(keyed);
  assertEquals(await creation.write([first]), { kind: "created" });
  const prepared = [
    await creation.prepare(plain),
    await creation.prepare(plain),
    await creation.prepare(keyed),
  ];
  assertEquals(await creation.write(prepared), {
    kind: "conflict",
    reason: "key",
    index: 2,
  });
  const tasks = await waitingTasks(world.store, TENANT_ID);
  assertEquals(tasks.map(({ id }) => id), [first.task.id]);
});

Deno.test("Creation.write() makes no task of a worker that was removed meanwhile", async () => {
  const world = await openTestEngine();
  const { creation } = world.engine;
  const request = await requestOf(world);
  const prepared = await creation.prepare(request);
  await world.parts.store.commit([{
    writes: [world.parts.repositories.workers.remove(request.worker)],
  }]);
  assertEquals(await creation.write([prepared]), {
    kind: "conflict",
    reason: "missing",
    index: 0,
  });
});

Deno.test("Creation.write() tells when what goes along does not fit", async () => {
  const world = await openTestEngine();
  const { creation } = world.engine;
  const request = await requestOf(world);
  const prepared = await creation.prepare(request);
  const along = world.parts.repositories.workers.assertExists(
    TENANT_ID,
    "wrk_none",
  );
  assertEquals(await creation.write([prepared], [along]), {
    kind: "conflict",
    reason: "missing",
    index: undefined,
  });
  assertEquals(
    await world.store.task(TENANT_ID, prepared.task.id),
    undefined,
  );
});

Deno.test("Creation.write() lets a key be used again when its task has ended", async () => {
  const world = await openTestEngine();
  const mailer = await world.worker();
  const one = await world.task(mailer, { key: "k" });
  await world.apply(one, { kind: "cancel" });
  const two = await world.task(mailer, { key: "k" });
  const reopened = await world.apply(one, { kind: "retry" });
  assertEquals(reopened, { kind: "conflict", reason: "key" });
  assertEquals((await world.read(one)).status, "canceled");
  assertExists(await world.read(two));
});

Deno.test("Creation.prepare() delays the first run of a schedule by chance, if asked to", async () => {
  const dates = new Set<number>();
  const world = await openTestEngine();
  for (let index = 0; index < 20; index++) {
    const request = await requestOf(world, {
      repeat: {
        cron: "0 3 * * *",
        catchUp: "one",
        catchUpWindowMs: 0,
        jitterMs: 600_000,
        mode: "same",
        onFailure: "continue",
      },
    });
    const { task } = await world.engine.creation.prepare(request);
    const lateMs = task.dateMs - task.slotMs;
    assertEquals(lateMs >= 0 && lateMs < 600_000, true);
    dates.add(task.dateMs);
  }
  assertEquals(dates.size > 15, true);
});
