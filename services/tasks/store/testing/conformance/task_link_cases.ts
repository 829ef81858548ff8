/**
 * Conformance tests of what belongs to tasks: keys, dependents, and what is
 * removed with a task.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import {
  calendarLink,
  FINAL_STATUSES,
  type RepeatRule,
  type Task,
} from "../../../domain/task.ts";
import type { Store } from "../../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  withHistory,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  commitTransaction,
  create,
  type StoreCase,
  update,
} from "./store_case.ts";

const TENANT = "tnt_a";

const REPEAT: RepeatRule = {
  cron: "0 3 * * *",
  catchUp: "one",
  catchUpWindowMs: 86_400_000,
  jitterMs: 0,
  mode: "same",
  onFailure: "continue",
};

/** The tests of what belongs to tasks. */
export function taskLinkCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("allows one live task for a key of a worker", async (store) => {
      const ids = sampleIds();
      const find = { tenantId: TENANT, workerId: "wrk_a", key: "k" };
      const first = sampleTask({ id: ids.next(), key: "k" });
      await create(store, first);
      assertEquals(await store.taskByKey(find), first);
      assertEquals(
        await store.taskByKey({ ...find, workerId: "wrk_b" }),
        undefined,
      );
      assertEquals(await store.taskByKey({ ...find, key: "K" }), undefined);
      const rival = sampleTask({ id: ids.next(), key: "k" });
      const conflict = { kind: "conflict", write: 0, reason: "key" };
      assertEquals(
        await commitTransaction(store, creation(rival)),
        conflict as unknown,
      );
      await create(
        store,
        sampleTask({ id: ids.next(), key: "k", workerId: "wrk_b" }),
        sampleTask({ id: ids.next(), key: "k", tenantId: "tnt_b" }),
      );
      const keyless = { ...rival, key: undefined };
      await create(store, keyless);
      assertEquals(
        await commitTransaction(store, change(changed(rival, {}))),
        conflict as unknown,
      );
      assertEquals(
        await store.task(TENANT, rival.id),
        keyless,
      );
    });

    check("frees a key with the end of its task", async (store) => {
      const ids = sampleIds();
      const find = { tenantId: TENANT, workerId: "wrk_a", key: "k" };
      for (const status of FINAL_STATUSES) {
        const first = sampleTask({ id: ids.next(), key: "k" });
        await create(store, first);
        const ended = await update(store, first, { status, isDue: false });
        assertEquals(await store.taskByKey(find), undefined);
        const second = sampleTask({ id: ids.next(), key: "k" });
        await create(store, second);
        assertEquals(
          await commitTransaction(
            store,
            change(changed(ended, { status: "waiting" })),
          ),
          { kind: "conflict", write: 0, reason: "key" },
        );
        await commitEach(store, removal(second));
        const reopened = await update(store, ended, { status: "waiting" });
        assertEquals(await store.taskByKey(find), reopened);
        await commitEach(store, removal(reopened));
      }
    });

    check(
      "finds dependents that are live or have failed by the task",
      async (store) => {
        const ids = sampleIds();
        const [parent, other] = [ids.next(), ids.next()];
        const children = Array.from({ length: 5 }, (_, index) =>
          sampleTask({
            id: ids.next(),
            status: "blocked",
            isDue: false,
            dependencies: index === 4 ? [other] : [other, parent],
          }));
        await create(store, sampleTask({ id: parent }), ...children);
        const wanted = children.slice(0, 4).map(({ id }) => id);
        assertEquals(await listDependents(store, parent), wanted);
        const [first, second] = children;
        if (first === undefined || second === undefined) return;
        const page = { tenantId: TENANT, ids: [parent], limit: 2 };
        assertEquals(await store.dependents(page), wanted.slice(0, 2));
        assertEquals(
          await store.dependents({ ...page, afterId: second.id }),
          wanted.slice(2),
        );
        assertEquals(
          await store.dependents({ ...page, tenantId: "tnt_b" }),
          [],
        );
        assertEquals(await store.dependents({ ...page, ids: [] }), []);
        assertEquals(
          await store.dependents({ ...page, ids: [parent, other], limit: 9 }),
          children.map(({ id }) => id),
        );
        const ended = await update(store, first, { status: "failed" });
        assertEquals(await listDependents(store, parent), wanted.slice(1));
        const blocked = await update(store, ended, { status: "blocked" });
        assertEquals(await listDependents(store, parent), wanted);
        const error = { code: "x", message: "x", dependency: parent, atMs: 1 };
        const by = { status: "failed", error } as const;
        const broken = await update(store, blocked, by);
        assertEquals(
          await listDependents(store, parent),
          wanted,
          "failed by it",
        );
        assertEquals(
          (await listDependents(store, other)).includes(first.id),
          false,
          "not failed by it",
        );
        await update(store, broken, { status: "blocked", error: undefined });
        const freed = await update(store, second, { dependencies: [other] });
        assertEquals(await listDependents(store, parent), [
          first.id,
          ...wanted.slice(2),
        ]);
        await commitEach(store, removal(freed));
        assertEquals(
          (await listDependents(store, other)).includes(second.id),
          false,
        );
      },
    );

    check("finds live tasks by the calendars that they name", async (store) => {
      const ids = sampleIds();
      const naming = (calendars: readonly string[] | undefined): Task =>
        sampleTask({
          id: ids.next(),
          status: "scheduled",
          repeat: { ...REPEAT, calendars },
        });
      const [both, one, none] = [
        naming(["a", "b"]),
        naming(["b"]),
        naming(undefined),
      ];
      await create(store, both, one, none);
      const byA = (): Promise<readonly string[]> =>
        listDependents(store, calendarLink("a"));
      const byB = (): Promise<readonly string[]> =>
        listDependents(store, calendarLink("b"));
      assertEquals(await byA(), [both.id]);
      assertEquals(await byB(), [both.id, one.id]);
      const left = await update(store, both, {
        repeat: { ...REPEAT, calendars: ["b"] },
      });
      assertEquals(await byA(), []);
      const ended = await update(store, one, { status: "complete" });
      assertEquals(await byB(), [left.id]);
      await commitEach(store, removal(left));
      await commitEach(store, removal(ended));
      assertEquals(await byB(), []);
    });

    check("removes a task with all that belongs to it", async (store) => {
      const ids = sampleIds();
      const { task, history } = withHistory(
        sampleTask({
          id: ids.next(),
          key: "k",
          dataJson: JSON.stringify("z".repeat(10_000)),
          dependencies: [ids.next()],
        }),
        [{ type: "created" }, {}],
      );
      await commitEach(store, { ...creation(task), history });
      await commitEach(store, removal(task));
      const gone = { tenantId: TENANT, taskId: task.id };
      assertEquals(await store.task(TENANT, task.id), undefined);
      assertEquals(
        await store.history({ ...gone, order: "asc", limit: 9 }),
        { records: [] },
      );
      assertEquals(await listDependents(store, task.dependencies[0] ?? ""), []);
      await create(store, sampleTask({ id: ids.next(), key: "k" }));
      assertEquals(
        await commitTransaction(store, removal(task)),
        { kind: "conflict", write: 0, reason: "version" },
      );
    });

    check("removes a long history by and by", async (store) => {
      let { task, history } = withHistory(
        sampleTask({ id: sampleIds().next() }),
        Array.from({ length: 4_000 }, () => ({})),
      );
      await commitEach(store, { ...creation(task), history });
      await commitEach(store, removal(task));
      const query = {
        tenantId: TENANT,
        taskId: task.id,
        order: "asc",
        limit: 9,
      } as const;
      assertEquals(await store.history(query), { records: [] });
      let swept = 0;
      for (let count = 0; count < 1_000; count++) {
        const now = await store.sweep(SAMPLE_MS, 500);
        if (now === 0) break;
        swept += now;
        assertEquals(now <= 500, true);
      }
      assertEquals(swept <= 4_000, true);
      ({ task, history } = withHistory(sampleTask({ id: task.id }), [{}]));
      await commitEach(store, { ...creation(task), history });
      assertEquals((await store.history(query)).records, history);
    });
  });
}

async function listDependents(
  store: Store,
  id: string,
): Promise<readonly string[]> {
  return await store.dependents({ tenantId: TENANT, ids: [id], limit: 100 });
}
