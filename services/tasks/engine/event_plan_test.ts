import { assert, assertEquals } from "@std/assert";
import type { HistoryRecord } from "../domain/history.ts";
import { verifyHistory } from "../domain/testing/verify_history.ts";
import type { Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import { sha256 } from "../store/digest.ts";
import { foldFor } from "./event_plan.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "./testing/test_engine.ts";

async function listRecords(
  { store }: TestEngine,
  { id: taskId }: Task,
): Promise<readonly HistoryRecord[]> {
  const { records } = await store.history({
    tenantId: TENANT_ID,
    taskId,
    order: "asc",
    limit: 10_000,
  });
  return records;
}

/** Returns a repeating task after a number of runs. */
async function withRuns(world: TestEngine, runs: number): Promise<Task> {
  const mailer = await world.worker();
  const made = await world.task(mailer, {
    repeat: {
      interval: "PT1M",
      catchUp: "one",
      catchUpWindowMs: 0,
      jitterMs: 0,
      mode: "same",
      onFailure: "continue",
    },
  });
  await world.engine.start();
  for (let run = 0; run < runs; run++) {
    const [grant] = await world.lease(mailer);
    await world.complete(grant);
    await world.clock.advance(60_000);
  }
  await world.engine.stop();
  return await world.read(made);
}

Deno.test("a task that repeats for long keeps a bounded history that can be checked", async () => {
  for (const trouble of [undefined, { conflictShare: 0.4 }]) {
    const world = await openTestEngine({
      limits: { historyPerTask: 20 },
      ...(trouble === undefined ? {} : { trouble }),
    });
    const task = await withRuns(world, 60);
    assertEquals([task.run, task.executions], [60, 60]);
    assert(task.historyCount > 150);
    const records = await listRecords(world, task);
    assert(records.length <= 20, `${records.length}`);
    assertEquals(records.at(-1)?.seq, task.historyCount);
    assertEquals(
      task.historyCount - records.length,
      task.historyFolded?.count,
    );
    const end = { count: task.historyCount, hash: task.historyHash };
    assertEquals(verifyHistory(records, { end, digest: sha256 }), {
      kind: "ok",
      end,
    });
    const types = await world.history(task);
    const folds = types.filter((type) => type === "folded");
    assert(folds.length >= 1);
    assert(folds.length <= 5, "each change folds");
  }
});

Deno.test("a plan without a bound keeps all of a history", async () => {
  const world = await openTestEngine({ limits: { historyPerTask: null } });
  const task = await withRuns(world, 20);
  assertEquals(task.historyFolded, undefined);
  assertEquals((await listRecords(world, task)).length, task.historyCount);
});

Deno.test("foldFor() looks nothing up for a short history", async () => {
  const world = await openTestEngine({ limits: { historyPerTask: 10 } });
  const task = await world.task(await world.worker());
  const { clock } = world;
  const no = () => {
    throw new Error("looked up");
  };
  const store: Store = { ...world.store, history: no };
  const parts = { store, findLimits: no, clock };
  assertEquals(await foldFor(task, { added: 3, parts }), undefined);
});

Deno.test("foldFor() folds nothing when the task is another one by now", async () => {
  const world = await openTestEngine({ limits: { historyPerTask: 10 } });
  const task = await world.task(await world.worker());
  const stale: Task = { ...task, historyCount: 50 };
  const { parts } = world;
  assertEquals(await foldFor(stale, { added: 1, parts }), undefined);
});
