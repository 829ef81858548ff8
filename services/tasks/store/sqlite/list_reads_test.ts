import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { RecordingDatabase } from "../../../../tests/support/statement_steps.ts";
import type { Task } from "../../domain/task.ts";
import type { TaskQuery } from "../queries.ts";
import type { Store } from "../store.ts";
import { readList } from "../testing/conformance/store_case.ts";
import {
  change,
  changed,
  creation,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { databasePath, openReading } from "./database_file.ts";
import { StoreReads } from "./sqlite_store.ts";
import { withFolder, withStore } from "./testing/open_store.ts";

const QUERY = {
  tenantId: "tnt_a",
  by: "date",
  sort: "date",
  order: "asc",
  limit: 50,
} as const satisfies TaskQuery;

const ORDERS = (["date", "created_at"] as const).flatMap((sort) =>
  (["asc", "desc"] as const).map((order) => ({ sort, order }))
);

/**
 * The orders in which long lists are read: all with `TEST_EFFORT=2` or more; else
 * both times and both directions, but not each with each.
 */
const LONG_ORDERS = countRounds(1) > 1
  ? ORDERS
  : ORDERS.filter(({ sort, order }) => (sort === "date") === (order === "asc"));

async function fill(
  store: Store,
  count: number,
  over: (index: number) => Partial<Task>,
): Promise<readonly Task[]> {
  const ids = sampleIds(count);
  const tasks = Array.from(
    { length: count },
    (_, index) => sampleTask({ id: ids.next(), ...over(index) }),
  );
  await store.commit(toTransactions(...tasks.map(creation)));
  return tasks;
}

Deno.test("a list bounds the work of a page and skips nothing", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 50_000, (index) => ({
        workerId: `wrk_${index % 3}`,
        status: index % 2 === 0 ? "waiting" : "complete",
        dateMs: SAMPLE_MS + index % 7,
        metadata: index % 9_001 === 0 ? { rare: "1" } : { common: "1" },
      }));
      const rare = tasks.filter(({ metadata }) => metadata["rare"] === "1");
      for (const order of LONG_ORDERS) {
        let pages = 1;
        const query = { ...QUERY, ...order, metadata: { rare: "1" } };
        const found = await readList(store, query, () => {
          pages++;
          return Promise.resolve();
        });
        assert(pages >= 3, `it took ${pages} pages`);
        assert(pages < 20, `it took ${pages} pages`);
        assertEquals(
          found.tasks.map(({ id }) => id).toSorted(),
          rare.map(({ id }) => id),
        );
      }
      const { count } = await store.listTasks({ ...QUERY, count: true });
      assertEquals(count, { value: 10_000, isExact: false });
      const counted = await store.listTasks({
        ...QUERY,
        metadata: { rare: "1" },
        count: true,
      });
      assertEquals(counted.count?.isExact, false);
    })
  );
});

Deno.test("a list by tags finds tasks of rare and of frequent ones on whole pages", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 12_000, (index) => ({
        workerId: `wrk_${index % 3}`,
        status: index % 50 === 0 ? "failed" : "complete",
        dateMs: SAMPLE_MS + index * 7_919 % 1_009,
        createdAtMs: SAMPLE_MS + index % 997,
        tags: [
          ...(index % 1_001 === 0 ? ["rare"] : []),
          ...(index % 5 === 0 ? ["frequent"] : []),
          ...(index % 2 === 0 ? ["very frequent"] : []),
        ],
      }));
      const lists: readonly Partial<TaskQuery>[] = [
        { tags: ["rare"] },
        { tags: ["frequent"] },
        { tags: ["very frequent"] },
        { tags: ["very frequent", "frequent"] },
        { tags: ["very frequent"], statuses: ["failed"] },
        { tags: ["very frequent"], workerIds: ["wrk_1"] },
        { tags: ["very frequent"], fromMs: SAMPLE_MS + 500, by: "date" },
      ];
      for (const list of lists) {
        for (const { sort, order } of LONG_ORDERS) {
          const query = { ...QUERY, ...list, sort, order, limit: 1_000 };
          const wanted = tasks.filter((task) =>
            (list.tags ?? []).every((tag) => task.tags.includes(tag)) &&
            (list.statuses ?? [task.status]).includes(task.status) &&
            (list.workerIds ?? [task.workerId]).includes(task.workerId) &&
            task.dateMs >= (list.fromMs ?? 0)
          ).map((task) => ({
            at: sort === "date" ? task.dateMs : task.createdAtMs,
            id: task.id,
          })).toSorted((left, right) =>
            left.at - right.at || (left.id < right.id ? -1 : 1)
          ).map(({ id }) => id);
          const found = await readList(store, { ...query, count: true });
          assertEquals(
            found.tasks.map(({ id }) => id),
            order === "asc" ? wanted : wanted.toReversed(),
            JSON.stringify(query),
          );
          assertEquals(found.count?.value, wanted.length);
        }
      }
    })
  );
});

Deno.test("a list of many workers is merged in order", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 3_000, (index) => ({
        workerId: `wrk_${index % 700}`,
        dateMs: SAMPLE_MS + index * 7_919 % 1_009,
      }));
      const wanted = tasks.toSorted((left, right) =>
        left.dateMs - right.dateMs || (left.id < right.id ? -1 : 1)
      );
      const found = await readList(store, { ...QUERY, limit: 200 });
      assertEquals(
        found.tasks.map(({ id }) => id),
        wanted.map(({ id }) => id),
      );
    })
  );
});

Deno.test("a page that takes long is done in pieces, between which tasks may change", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 3_000, (index) => ({
        workerId: `wrk_${index % 3}`,
        status: index % 2 === 0 ? "waiting" : "complete",
        dateMs: SAMPLE_MS + index,
        metadata: index % 100 === 50 ? { rare: "1" } : { common: "1" },
      }));
      const rare = tasks.filter(({ metadata }) => metadata["rare"] === "1");
      const [met, ahead] = [rare[0], rare.at(-1)];
      assert(met !== undefined && ahead !== undefined);
      let nowMs = 0;
      const reads = new StoreReads(openReading(databasePath(folder)), () =>
        nowMs += 0.2);
      const readPage = async (changeAt: number) => {
        const read = reads.lists.page({ ...QUERY, metadata: { rare: "1" } });
        let pieces = 1;
        let page = read.next();
        for (; page.done !== true; pieces++, page = read.next()) {
          if (pieces !== changeAt) {
            continue;
          }
          // A task that was found moves to the end, and one that was not found
          // elsewhere.
          await store.commit(toTransactions(
            change(changed(met, { dateMs: SAMPLE_MS + 10_000 })),
            change(changed(ahead, { status: "failed", workerId: "wrk_9" })),
          ));
        }
        assertEquals(
          page.value.tasks.map(({ id }) =>
            id
          ),
          rare.map(({ id }) => id),
        );
        return pieces;
      };
      const pieces = await readPage(-1);
      assert(pieces > 10, `it took ${pieces} pieces`);
      await readPage(Math.round(pieces / 2));
      reads.close();
    })
  );
});

Deno.test("a list of very many workers looks at no more of them than it needs", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 1_200, (index) => ({
        workerId: `wrk_${index % 600}`,
        dateMs: SAMPLE_MS + index % 599,
        tags: index % 120 === 7 ? ["rare"] : [],
      }));
      const sorted = tasks.toSorted((left, right) =>
        left.dateMs - right.dateMs || (left.id < right.id ? -1 : 1)
      ).map(({ id }) => id);
      const db = new RecordingDatabase(databasePath(folder), {
        readOnly: true,
      });
      const reads = new StoreReads(db, () => 0);
      for (const order of ["asc", "desc"] as const) {
        db.take();
        const page = reads.lists.page({ ...QUERY, order }).next();
        assert(page.done !== true);
        assert(db.take().length < 200);
        const found = await readList(store, { ...QUERY, order, limit: 37 });
        assertEquals(
          found.tasks.map(({ id }) => id),
          order === "asc" ? sorted : sorted.toReversed(),
        );
        const few = await readList(store, { ...QUERY, order, tags: ["rare"] });
        assertEquals(few.tasks.length, 10);
      }
      reads.close();
    })
  );
});

Deno.test("a count that takes long is done in pieces", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      await fill(store, 3_000, (index) => ({ group: `g${index % 2}` }));
      const reads = new StoreReads(openReading(databasePath(folder)));
      const query = { ...QUERY, limit: 1, count: true };
      const read = reads.lists.page({ ...query, group: "g1" });
      let pieces = 0;
      let page = read.next();
      for (; page.done !== true; pieces++) page = read.next();
      reads.close();
      assert(pieces > 40, `it took ${pieces} pieces`);
      assertEquals(page.value.count, { value: 1_500, isExact: true });
    })
  );
});

Deno.test("a list of what is due goes on when each read takes longer than a piece may", async () => {
  await withFolder((folder) =>
    withStore(folder, async (store) => {
      const tasks = await fill(store, 60, (index) => ({
        status: index < 30 ? "waiting" : "retry",
        isDue: true,
        dateMs: SAMPLE_MS + index,
      }));
      let nowMs = 0;
      const reads = new StoreReads(openReading(databasePath(folder)), () =>
        nowMs += 3);
      const read = reads.lists.page({ ...QUERY, limit: 100, isDue: true });
      let page = read.next();
      for (let pieces = 1; page.done !== true; pieces++) {
        assert(pieces < 100, "the pieces come no further");
        page = read.next();
      }
      assertEquals(
        page.value.tasks.map(({ id }) =>
          id
        ),
        tasks.map(({ id }) => id),
      );
      assertEquals(page.value.next, undefined);
      reads.close();
    })
  );
});
