/**
 * Conformance tests of the order of lists, and of pages that neither repeat nor
 * skip tasks.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import { type Task, TASK_STATUSES } from "../../../domain/task.ts";
import { removal, SAMPLE_MS, sampleIds, sampleTask } from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  create,
  listIds,
  readList,
  type StoreCase,
  update,
} from "./store_case.ts";

const TENANT = "tnt_a";

/** The tests of the order of lists. */
export function listOrderCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check(
      "orders lists both ways, ties by id, in pages of any size",
      async (store) => {
        const tasks = drawTasks(90);
        await create(store, ...tasks);
        for (const sort of ["date", "created_at"] as const) {
          for (const order of ["asc", "desc"] as const) {
            const wanted = listIds(sorted(tasks, sort, order));
            for (const limit of [1, 7, 90, 200]) {
              const query = {
                tenantId: TENANT,
                by: "date",
                sort,
                order,
                limit,
              } as const;
              assertEquals(
                listIds((await readList(store, query)).tasks),
                wanted,
              );
            }
          }
        }
      },
    );

    check(
      "skips and repeats nothing while tasks come and go",
      async (store) => {
        for (const sort of ["date", "created_at"] as const) {
          for (const order of ["asc", "desc"] as const) {
            const random = new SeededRandom(sort.length + order.length);
            const tenantId = `tnt_${sort}_${order}`;
            const tasks = drawTasks(40).map((task) => ({
              ...task,
              tenantId,
              id: other(task.id, tenantId),
            }));
            const [passing, staying] = [tasks.slice(0, 10), tasks.slice(10)];
            await create(store, ...tasks);
            const ids = sampleIds(17 + tenantId.length + order.length);
            const query = {
              tenantId,
              by: "date",
              sort,
              order,
              limit: 6,
            } as const;
            const list = await readList(store, query, async () => {
              const born = sampleTask({
                id: ids.next(),
                tenantId,
                dateMs: SAMPLE_MS + random.below(9) - 4,
              });
              await create(store, born);
              const gone = passing.pop();
              if (gone !== undefined) await commitEach(store, removal(gone));
            });
            const found = listIds(list.tasks);
            assertEquals(new Set(found).size, found.length);
            const kept = new Set(listIds(staying));
            assertEquals(
              found.filter((id) => kept.has(id)),
              listIds(sorted(staying, sort, order)),
            );
          }
        }
      },
    );

    check("follows tasks that move", async (store) => {
      const ids = sampleIds();
      const [first, second] = [
        sampleTask({ id: ids.next(), dateMs: SAMPLE_MS + 1 }),
        sampleTask({ id: ids.next(), dateMs: SAMPLE_MS + 2 }),
      ];
      await create(store, first, second);
      const moved = await update(store, first, { dateMs: SAMPLE_MS + 3 });
      const query = {
        tenantId: TENANT,
        by: "date",
        sort: "date",
        order: "asc",
        limit: 9,
      } as const;
      assertEquals((await store.listTasks(query)).tasks, [second, moved]);
    });
  });
}

function drawTasks(count: number): Task[] {
  const random = new SeededRandom(count);
  const ids = sampleIds(count);
  let createdAtMs = SAMPLE_MS;
  return Array.from({ length: count }, () => {
    createdAtMs += random.below(2);
    return sampleTask({
      id: ids.next(),
      workerId: `wrk_${random.below(4)}`,
      status: random.pick(TASK_STATUSES),
      dateMs: SAMPLE_MS + random.below(9) - 4,
      createdAtMs,
    });
  });
}

/** An id with the same creation time and another number. */
function other(id: string, salt: string): string {
  const digit = salt.length % 8;
  return `${id.slice(0, 5)}${digit}${id.slice(6)}`;
}

function sorted(
  tasks: readonly Task[],
  sort: "date" | "created_at",
  order: "asc" | "desc",
): readonly Task[] {
  const rising = tasks.toSorted((left, right) => {
    const byTime = sort === "date"
      ? left.dateMs - right.dateMs
      : left.createdAtMs - right.createdAtMs;
    return byTime !== 0 ? byTime : left.id < right.id ? -1 : 1;
  });
  return order === "asc" ? rising : rising.toReversed();
}
