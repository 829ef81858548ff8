import { assert, assertEquals, assertExists } from "@std/assert";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { BLANK_DEFINITION, type TaskDefinition } from "../domain/task.ts";
import { prepareTask } from "./create_request.ts";
import {
  createTask,
  createTasks,
  type TaskOfTest,
} from "./testing/create_tasks.ts";
import { waitingTasks } from "./testing/samples.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";

async function createRequest(
  world: TestEngine,
  patch: Partial<TaskDefinition> = {},
): Promise<TaskOfTest> {
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

Deno.test("TaskCreation.write() writes tasks together or not at all, and tells which did not fit", async () => {
  const world = await openTestEngine();
  const plain = await createRequest(world);
  const keyed = await createRequest(world, { key: "k" });
  const first = await createTask(world.engine, keyed);
  const outcome = await createTasks(world.engine, [plain, plain, keyed]);
  assert(outcome.kind === "refused");
  assertEquals(outcome.results.map(({ kind }) => kind), [
    "created",
    "created",
    "key_conflict",
  ]);
  const tasks = await waitingTasks(world.store, TENANT_ID);
  assertEquals(tasks.map(({ id }) => id), [first.id]);
});

Deno.test("TaskCreation.place() refuses a task of a worker that was removed meanwhile", async () => {
  const world = await openTestEngine();
  const request = await createRequest(world);
  await world.parts.store.commit([{
    writes: [world.parts.repositories.workers.remove(request.worker)],
  }]);
  const outcome = await createTasks(world.engine, [request]);
  assertEquals(outcome, {
    kind: "refused",
    results: [{ kind: "unknown_worker", worker: request.worker }],
  });
});

Deno.test("TaskCreation.write() writes nothing when what is to be written with it does not fit", async () => {
  const world = await openTestEngine();
  const request = await createRequest(world);
  const missing = world.parts.repositories.workers.assertExists(
    TENANT_ID,
    "wrk_none",
  );
  const outcome = await createTasks(world.engine, [request], [missing]);
  assertEquals(outcome, { kind: "busy" });
  assertEquals(await waitingTasks(world.store, TENANT_ID), []);
});

Deno.test("TaskCreation.write() lets a key be used again when its task has ended", async () => {
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

Deno.test("TaskCreation.place() pauses between the keys that it looks for", async () => {
  let reads = 0;
  let mostReads = 0;
  const world = await openTestEngine({
    wrap: (store) => ({
      ...store,
      taskByKey(key) {
        reads++;
        return store.taskByKey(key);
      },
    }),
  });
  const request = await createRequest(world);
  const requests = Array.from({ length: 30 }, (_, index) => ({
    ...request,
    definition: { ...request.definition, key: `k${index}` },
    onConflict: "return" as const,
    states: [],
    at: "",
  }));
  const pausing = {
    pause() {
      mostReads = Math.max(mostReads, reads);
      reads = 0;
      return undefined;
    },
  };
  using creation = await world.engine.creation.begin(requests, {
    tenantId: TENANT_ID,
    actor: OWNER,
    limits: { retentionMs: null, activeTasks: null, executionsPerMonth: null },
    isOneCommit: false,
    client: { pausing, onGone: () => () => {} },
  });
  assertEquals((await creation?.place())?.length, 30);
  assertEquals((await creation?.write())?.kind, "ok");
  assertEquals(mostReads, 1);
});

Deno.test("prepareTask() delays the first run of a schedule by chance, if asked to", async () => {
  const dates = new Set<number>();
  const world = await openTestEngine();
  for (let index = 0; index < 20; index++) {
    const request = await createRequest(world, {
      repeat: {
        cron: "0 3 * * *",
        catchUp: "one",
        catchUpWindowMs: 0,
        jitterMs: 600_000,
        mode: "same",
        onFailure: "continue",
      },
    });
    const { tenantId, actor } = request;
    const { task } = prepareTask({ ...request, states: [] }, {
      tenantId,
      actor,
      retentionMs: null,
      parts: world.parts,
    });
    const lateMs = task.dateMs - task.slotMs;
    assertEquals(lateMs >= 0 && lateMs < 600_000, true);
    dates.add(task.dateMs);
  }
  assertEquals(dates.size > 15, true);
});

Deno.test("TaskCreation.write() lets others go first while the tasks of one commit are prepared", async () => {
  const given: unknown[] = [];
  const world = await openTestEngine({
    wrap: (store) => ({
      ...store,
      commit(transactions, pausing) {
        given.push(pausing);
        return store.commit(transactions, pausing);
      },
    }),
  });
  const request = await createRequest(world);
  given.length = 0;
  await createTasks(world.engine, [request, request]);
  // As createTasks() says.
  assertEquals(given, [NEVER_PAUSING]);
});
