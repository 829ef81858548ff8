/**
 * Conformance tests of histories whose beginning is dropped.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { HistoryRecord } from "../../../domain/history.ts";
import type { Task } from "../../../domain/task.ts";
import type { Store } from "../../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  type TaskWrite,
  type WithHistory,
  withHistory,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  commitTransaction,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";

/** The tests of histories whose beginning is dropped. */
export function historyFoldCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("drops the beginning of a history with a change", async (store) => {
      const first = await createLong(store, 30);
      const next = folded(first.task, first.history[19]);
      await commitEach(store, next.write);
      const left = [...first.history.slice(20), ...next.write.history];
      assertEquals(await store.task(TENANT, first.task.id), next.task);
      for (const limit of [1, 3, 50]) {
        assertEquals(await read(store, first.task, { limit }), left);
        assertEquals(
          await read(store, first.task, { limit, order: "desc" }),
          left.toReversed(),
        );
      }
      const again = folded(next.task, first.history[27]);
      await commitEach(store, again.write);
      assertEquals(await read(store, first.task, { limit: 4 }), [
        ...left.slice(8),
        ...again.write.history,
      ]);
    });

    check("drops nothing when the change does not fit", async (store) => {
      const first = await createLong(store, 12);
      const stale = { ...first.task, version: 7 };
      const { write } = folded(stale, first.history[5]);
      const result = await commitTransaction(store, write);
      assertEquals(result?.kind, "conflict");
      const fitting = folded(first.task, first.history[5]);
      const undone = await store.commit([{
        writes: [fitting.write, {
          kind: "require",
          recordKind: "worker",
          tenantId: TENANT,
          id: "wrk_none",
        }],
      }]);
      assertEquals(undone[0]?.kind, "conflict");
      assertEquals(await read(store, first.task, { limit: 50 }), first.history);
    });

    check("drops what was added in the same commit", async (store) => {
      const first = withHistory(sampleTask({ id: sampleIds().next() }), [
        {},
        {},
      ]);
      const more = withHistory(changed(first.task, {}), [{}, {}, {}]);
      const { write } = folded(more.task, more.history[1]);
      const results = await store.commit([
        { writes: [{ ...creation(first.task), history: first.history }] },
        { writes: [{ ...change(more.task), history: more.history }] },
        { writes: [write] },
      ]);
      assertEquals(results.map(({ kind }) => kind), ["ok", "ok", "ok"]);
      assertEquals(await read(store, first.task, { limit: 50 }), [
        ...more.history.slice(2),
        ...write.history,
      ]);
    });

    check(
      "removes a folded history and lets its number be used again",
      async (store) => {
        for (const length of [20, 4_000]) {
          const first = await createLong(store, length);
          const { task, write } = folded(first.task, first.history[9]);
          await commitEach(store, write, removal(task));
          assertEquals(await read(store, task, { limit: 50 }), []);
          for (let count = 0; count < 1_000; count++) {
            if (await store.sweep(SAMPLE_MS, 500) === 0) break;
          }
          const again = await createLong(store, 3);
          assertEquals(again.task.id, task.id);
          assertEquals(await store.sweep(SAMPLE_MS, 500), 0);
          assertEquals(
            await read(store, task, { limit: 50 }),
            again.history,
          );
          await commitEach(store, removal(again.task));
        }
      },
    );

    check(
      "keeps a folded history when opened again",
      async (store, subject) => {
        if (subject.reopen === undefined) return;
        const first = await createLong(store, 9);
        const { write } = folded(first.task, first.history[4]);
        await commitEach(store, write);
        const reopened = await subject.reopen();
        assertEquals(await read(reopened, first.task, { limit: 2 }), [
          ...first.history.slice(5),
          ...write.history,
        ]);
      },
    );
  });
}

async function createLong(store: Store, length: number): Promise<WithHistory> {
  const made = withHistory(
    sampleTask({ id: sampleIds().next() }),
    Array.from({ length }, (_, run) => ({ run })),
  );
  await commitEach(store, { ...creation(made.task), history: made.history });
  return made;
}

/** A change of a task that drops all records up to a certain one. */
function folded(
  task: Task,
  last: HistoryRecord | undefined,
): { readonly task: Task; readonly write: TaskWrite } {
  const { seq: count = 0, hash = "" } = last ?? {};
  const historyFolded = { count, hash };
  const next = withHistory(changed(task, { historyFolded }), [
    { type: "folded", folded: historyFolded },
    { run: 99 },
  ]);
  const { history } = next;
  return {
    task: next.task,
    write: { ...change(next.task), history, foldThrough: count },
  };
}

/** Reads all pages of a history. */
async function read(
  store: Store,
  { id: taskId }: Task,
  query: { readonly limit: number; readonly order?: "asc" | "desc" },
): Promise<readonly HistoryRecord[]> {
  const records: HistoryRecord[] = [];
  let afterSeq: number | undefined;
  for (let page = 0; page < 1_000; page++) {
    const found = await store.history({
      tenantId: TENANT,
      taskId,
      order: "asc",
      ...query,
      ...(afterSeq === undefined ? {} : { afterSeq }),
    });
    records.push(...found.records);
    afterSeq = found.nextAfterSeq;
    if (afterSeq === undefined) break;
  }
  return records;
}
