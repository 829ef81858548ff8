import { assert, assertEquals } from "@std/assert";
import type { Pausing } from "../../../shared/slices.ts";
import type { Task } from "../../domain/task.ts";
import type { Write } from "../store.ts";
import {
  changed,
  creation,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
  withHistory,
} from "../testing/sample_tasks.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

/** Tasks that differ in all that makes their encoding differ. */
function manyTasks(count: number): readonly Task[] {
  const ids = sampleIds();
  return Array.from({ length: count }, (_, index) =>
    sampleTask({
      id: ids.next(),
      workerId: `wrk_${index % 3}`,
      dataJson: index % 50 === 0
        ? JSON.stringify("long ".repeat(2_000))
        : `"\u00e9 \ud83d\ude00 \\ud800 ${index}"`,
      tags: ["\ud800"],
    }));
}

function createWrite(task: Task): Write {
  const { task: next, history } = withHistory(task, [{}]);
  return { ...creation(next), history };
}

/** Calls `meanwhile` in the first pause. */
function pausingFor(
  meanwhile: () => Promise<unknown>,
): Pausing & { readonly pauses: number } {
  let pauses = 0;
  return {
    get pauses() {
      return pauses;
    },
    async pause() {
      if (++pauses === 1) await meanwhile();
    },
  };
}

Deno.test("SqliteStore.commit() lets others go first while it encodes a long transaction", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = manyTasks(700);
      const other = sampleTask({ id: sampleIds(2).next(), tenantId: "tnt_b" });
      const pausing = pausingFor(async () => {
        const [result] = await store.commit(toTransactions(creation(other)));
        assertEquals(result, { kind: "ok" });
        assertEquals(await store.task("tnt_a", tasks[0]?.id ?? ""), undefined);
      });
      const results = await store.commit(
        [{ writes: tasks.map(createWrite) }],
        pausing,
      );
      assertEquals(results, [{ kind: "ok" }]);
      assert(pausing.pauses > 700, String(pausing.pauses));
      const stored = await store.tasks("tnt_a", tasks.map(({ id }) => id));
      assertEquals(stored, tasks.map((task) => withHistory(task, [{}]).task));
      const counts = await store.counts({ tenantId: "tnt_a" });
      assertEquals(counts.waiting, 700);
    })
  );
});

Deno.test("SqliteStore.commit() writes nothing of a long transaction with a conflict, and says where it is", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = manyTasks(400);
      const [first] = tasks;
      assert(first !== undefined);
      const pausing = pausingFor(() => Promise.resolve());
      const results = await store.commit([
        { writes: tasks.slice(0, 300).map(createWrite) },
        {
          writes: [
            ...tasks.slice(300).map(createWrite),
            removal(changed(first, {})),
          ],
        },
        { writes: [createWrite(sampleTask({ id: sampleIds(3).next() }))] },
      ], pausing);
      assertEquals(results, [
        { kind: "ok" },
        { kind: "conflict", write: 100, reason: "version" },
        { kind: "ok" },
      ]);
      const counts = await store.counts({ tenantId: "tnt_a" });
      assertEquals(counts.waiting, 301);
    })
  );
});

Deno.test("SqliteStore.stop() waits for a transaction that is being encoded", async () => {
  await withFolder(async (folder) => {
    const tasks = manyTasks(300);
    await withStore(folder, async (store) => {
      const goOn = Promise.withResolvers<void>();
      const committed = store.commit(
        [{ writes: tasks.map(createWrite) }],
        pausingFor(() => goOn.promise),
      );
      const stopped = store.stop();
      goOn.resolve();
      assertEquals(await committed, [{ kind: "ok" }]);
      await stopped;
    });
    await withStore(folder, async (store) => {
      const counts = await store.counts({ tenantId: "tnt_a" });
      assertEquals(counts.waiting, 300);
    });
  });
});
