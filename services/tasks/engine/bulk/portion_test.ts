import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TaskStatus } from "../../domain/task.ts";
import {
  type Store,
  StoreBusyError,
  type Transaction,
  type Write,
} from "../../store/store.ts";
import {
  openTestEngine,
  OWNER,
  TENANT_ID,
  type TestEngine,
} from "../testing/test_engine.ts";
import { type BulkOrder, firstPosition, NO_PROGRESS } from "./operation.ts";
import { runOrder, runPortion } from "./portion.ts";

type PortionOptions = Parameters<typeof runPortion>[1];

Deno.test("runPortion() writes a portion by one commit, with what is kept of it", async () => {
  const world = await openWithTasks(50);
  const commits = watchCommits(world);
  const after = await run(world, { inSameCommit: () => [note(1)] });
  assertEquals(commits, [51]);
  assertEquals([after?.progress.changed, after?.from], [50, undefined]);
  assertEquals(await count(world, "paused"), 50);
});

Deno.test("runPortion() writes nothing when what is kept of it conflicts", async () => {
  const world = await openWithTasks(3);
  await world.parts.store.commit([{ writes: [note(1)] }]);
  const after = await run(world, { inSameCommit: () => [note(1)] });
  assertEquals(after, undefined);
  assertEquals(await count(world, "paused"), 0);
});

Deno.test("runPortion() goes on with smaller portions after the pauses that a busy store asks for", async () => {
  const world = await openWithTasks(20);
  const sizes = watchCommits(world, (size) => size > 3);
  const { clock } = world;
  const startMs = clock.elapsedMs;
  let progress = NO_PROGRESS;
  let from = firstPosition(pausing(world)) as
    | PortionOptions["from"]
    | undefined;
  let portions = 0;
  while (from !== undefined) {
    const after = await patiently(world, run(world, { progress, from }));
    assert(after !== undefined);
    ({ progress, from } = after);
    portions++;
  }
  assertEquals(sizes.slice(0, 4), [20, 10, 5, 2]);
  assertEquals([progress.matched, progress.changed], [20, 20]);
  assert(portions > 7);
  // Each refused commit asks to wait for 100 ms.
  const refusals = sizes.filter((size) => size > 3).length;
  assertEquals(clock.elapsedMs - startMs, refusals * 100);
  assertEquals(await count(world, "paused"), 20);
});

Deno.test("runPortion() gives up a store that stays busy", async () => {
  const world = await openWithTasks(20);
  const sizes = watchCommits(world, () => true);
  const after = await patiently(world, run(world));
  assertEquals(sizes.length, 12);
  assertEquals([after?.progress.failed, after?.from], [20, undefined]);
  assertEquals(after?.progress.errors[0]?.code, "overloaded");
  // The stored progress says that nothing was done, so it can be tried again
  // later.
  await assertRejects(
    () => patiently(world, run(world, { inSameCommit: () => [note(1)] })),
    StoreBusyError,
  );
  assertEquals(await count(world, "paused"), 0);
});

Deno.test("runPortion() throws what is no refusal, and what it wrote then is whole", async () => {
  for (const isApplied of [false, true]) {
    const world = await openWithTasks(5);
    const { store } = world.parts;
    const commit = store.commit.bind(store);
    store.commit = async (transactions) => {
      if (isApplied) await commit(transactions);
      throw new Error("disk on fire");
    };
    await assertRejects(
      () => run(world, { inSameCommit: () => [note(1)] }),
      Error,
      "disk on fire",
    );
    assertEquals(await count(world, "paused"), isApplied ? 5 : 0);
    const record = await world.store.record("operation", TENANT_ID, "opr_1");
    assertEquals(record?.version, isApplied ? 1 : undefined);
  }
});

Deno.test("runPortion() takes tasks as they are when they change meanwhile", async () => {
  const world = await openWithTasks(20);
  const { tasks } = await list(world);
  const sizes = watchCommits(world);
  const { store } = world.parts;
  const commit = store.commit.bind(store);
  let left = 3;
  store.commit = async (transactions) => {
    const task = tasks[--left];
    if (left < 0 || task === undefined) return await commit(transactions);
    store.commit = commit;
    await world.apply(task, { kind: "cancel" });
    const results = await commit(transactions);
    store.commit = wrapped;
    return results;
  };
  const wrapped = store.commit;
  const progress = await runOrder(world.engine, pausing(world));
  assertEquals(progress.matched, 20);
  assertEquals([progress.changed, progress.failed], [17, 3]);
  assertEquals(await count(world, "paused"), 17);
  // Each conflict halves the portion; canceled tasks are not written again.
  assertEquals(sizes, [1, 20, 1, 9, 1, 3, 17]);
});

Deno.test("runPortion() lets one task of a key become live again", async () => {
  const world = await openTestEngine();
  const worker = await world.worker();
  const ids: string[] = [];
  for (const key of ["a", "a", "b", undefined]) {
    const task = await world.task(worker, key === undefined ? {} : { key });
    await world.apply(task, { kind: "cancel" });
    ids.push(task.id);
  }
  await world.task(worker, { key: "b" });
  for (const isDryRun of [true, false]) {
    const progress = await runOrder(world.engine, {
      ...pausing(world),
      action: "retry",
      filter: undefined,
      ids,
      isDryRun,
    });
    assertEquals([progress.changed, progress.failed], [2, 2]);
    assertEquals(
      progress.errors.map(({ id, code }) => [id, code]),
      [[ids[1], "key_conflict"], [ids[2], "key_conflict"]],
    );
  }
});

Deno.test("runPortion() finds out a key that another task took meanwhile", async () => {
  const world = await openTestEngine();
  const worker = await world.worker();
  for (const key of ["a", "b"]) {
    const task = await world.task(worker, { key });
    await world.apply(task, { kind: "cancel" });
  }
  const { store } = world.parts;
  const commit = store.commit.bind(store);
  store.commit = async (transactions) => {
    store.commit = commit;
    await world.task(worker, { key: "a" });
    return await commit(transactions);
  };
  const progress = await runOrder(world.engine, {
    ...pausing(world),
    action: "retry",
  });
  assertEquals([progress.changed, progress.failed], [1, 1]);
  assertEquals(progress.errors[0]?.code, "key_conflict");
});

Deno.test("runPortion() cancels a live task that it removes, and counts one that is gone as unchanged", async () => {
  const world = await openWithTasks(3);
  const { tasks } = await list(world);
  const heard: (string | undefined)[] = [];
  world.engine.changes.onChange(({ next }) => heard.push(next?.status));
  const { store } = world.parts;
  const commit = store.commit.bind(store);
  store.commit = async (transactions) => {
    store.commit = commit;
    const [task] = tasks;
    await runOrder(world.engine, {
      ...pausing(world),
      action: "delete",
      filter: undefined,
      ids: [task?.id ?? ""],
    });
    return await commit(transactions);
  };
  const order: BulkOrder = { ...pausing(world), action: "delete" };
  const progress = await runOrder(world.engine, order);
  assertEquals(
    [progress.matched, progress.changed, progress.unchanged],
    [3, 2, 1],
  );
  const gone = ["canceled", undefined];
  assertEquals(heard, [...gone, ...gone, ...gone]);
  assertEquals((await list(world)).tasks, []);
});

async function openWithTasks(count: number): Promise<TestEngine> {
  const world = await openTestEngine();
  const worker = await world.worker();
  for (let left = count; left > 0; left--) await world.task(worker);
  return world;
}

function pausing({ clock }: TestEngine): BulkOrder {
  return {
    action: "pause",
    tenantId: TENANT_ID,
    actor: OWNER,
    filter: { by: "date" },
    limit: 1_000,
    isDryRun: false,
    orderedAtMs: clock.nowMs(),
  };
}

function run(world: TestEngine, options: Partial<PortionOptions> = {}) {
  const order = pausing(world);
  const from = firstPosition(order);
  return runPortion(world.engine, {
    order,
    progress: NO_PROGRESS,
    from,
    ...options,
  });
}

/** Advances the clock until something has ended. */
async function patiently<Value>(
  { clock }: TestEngine,
  running: Promise<Value>,
): Promise<Value> {
  let isDone = false;
  const ended = running.finally(() => {
    isDone = true;
  });
  // The rejection has to be handled from the beginning.
  ended.catch(() => {});
  for (let turns = 0; turns < 100 && !isDone; turns++) {
    await clock.advance(0);
    if (!isDone) clock.fireNext(Infinity);
  }
  return await ended;
}

function note(version: number): Write {
  const id = "opr_1";
  return {
    kind: "record",
    recordKind: "operation",
    tenantId: TENANT_ID,
    id,
    expectedVersion: version - 1,
    next: { kind: "operation", tenantId: TENANT_ID, id, version, text: "{}" },
  };
}

/**
 * Records the sizes of commits from now on and refuses those that are too
 * large.
 */
function watchCommits(
  { parts: { store } }: { readonly parts: { readonly store: Store } },
  isTooLarge: (size: number) => boolean = () => false,
): readonly number[] {
  const sizes: number[] = [];
  const commit = store.commit.bind(store);
  store.commit = async (transactions: readonly Transaction[]) => {
    const size = transactions.reduce(
      (sum, { writes }) => sum + writes.length,
      0,
    );
    sizes.push(size);
    if (isTooLarge(size)) throw new StoreBusyError(100);
    return await commit(transactions);
  };
  return sizes;
}

async function list({ store }: TestEngine, statuses?: TaskStatus[]) {
  return await store.listTasks({
    tenantId: TENANT_ID,
    by: "date",
    sort: "created_at",
    order: "asc",
    limit: 200,
    ...(statuses === undefined ? {} : { statuses }),
  });
}

async function count(world: TestEngine, status: TaskStatus): Promise<number> {
  return (await list(world, [status])).tasks.length;
}
