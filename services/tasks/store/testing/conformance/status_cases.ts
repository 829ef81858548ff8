/**
 * Conformance tests of counts by status, and of scans across tenants.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { computePlacement } from "../../../domain/placement.ts";
import type { Task, TaskStatus } from "../../../domain/task.ts";
import type { Store } from "../../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  sampleIds,
  sampleTask,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  create,
  listIds,
  type StoreCase,
  update,
} from "./store_case.ts";

const SPREAD: Readonly<Partial<Record<TaskStatus, number>>> = {
  scheduled: 3,
  waiting: 5,
  running: 7,
  blocked: 9,
  paused: 1,
  complete: 12,
};

/** The tests of counts and scans. */
export function statusCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check(
      "tells each tenant's queues, and since when tasks are due",
      async (store) => {
        const ids = sampleIds(4);
        const again = (tenantId: string, dateMs: number): Task =>
          sampleTask({
            ...{ id: ids.next(), tenantId, dateMs },
            ...{ status: "retry", isDue: true },
          });
        const all = [
          ...spread("tnt_a", "wrk_a", 1),
          ...spread("tnt_a", "wrk_b", 2),
          ...spread("tnt_b", "wrk_a", 3),
          ...spread("tnt_c", "wrk_a", 5)
            .filter(({ status }) => status === "scheduled"),
          again("tnt_b", 7_000),
          again("tnt_b", 6_000),
        ];
        await create(store, ...all);
        const queues = (await store.tenantQueues())
          .toSorted((a, b) => a.tenantId < b.tenantId ? -1 : 1);
        const since = (tenantId: string): number | undefined => {
          const dates = all
            .filter((task) =>
              task.tenantId === tenantId &&
              computePlacement(task).rank !== undefined
            )
            .map(({ dateMs }) => dateMs);
          return dates.length === 0 ? undefined : Math.min(...dates);
        };
        assertEquals(since("tnt_b"), 6_000);
        assertEquals(since("tnt_c"), undefined);
        assertEquals(
          queues,
          await Promise.all(
            ["tnt_a", "tnt_b", "tnt_c"].map(async (tenantId) => ({
              tenantId,
              counts: await store.counts({ tenantId }),
              dueSinceMs: since(tenantId),
            })),
          ),
        );
      },
    );

    check("counts by status", async (store) => {
      const a = spread("tnt_a", "wrk_a", 1);
      await create(
        store,
        ...a,
        ...spread("tnt_a", "wrk_b", 2),
        ...spread("tnt_b", "wrk_a", 3),
      );
      const tenantId = "tnt_a";
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_a" }),
        SPREAD,
      );
      assertEquals(await store.counts({ tenantId }), {
        scheduled: 6,
        waiting: 10,
        running: 14,
        blocked: 18,
        paused: 2,
        complete: 24,
      });
      const [first] = a;
      if (first === undefined) return;
      const moved = await update(store, first, { status: "blocked" });
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_a" }),
        { ...SPREAD, scheduled: 2, blocked: 10 },
      );
      await commitEach(store, removal(moved));
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_a" }),
        { ...SPREAD, scheduled: 2 },
      );
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_none" }),
        {},
      );
      assertEquals(await store.proveCounts(), 0);
    });

    check(
      "counts what a transaction that conflicts leaves alone",
      async (store) => {
        const ids = sampleIds();
        const [task, other] = [
          sampleTask({ id: ids.next() }),
          sampleTask({ id: ids.next() }),
        ];
        await create(store, task);
        await store.commit([{
          writes: [creation(other), change({ ...task, version: 7 })],
        }, {
          writes: [change(changed(task, { workerId: "wrk_b" }))],
        }]);
        const tenantId = "tnt_a";
        assertEquals(await store.counts({ tenantId }), { waiting: 1 });
        assertEquals(await store.counts({ tenantId, workerId: "wrk_a" }), {});
        assertEquals(await store.counts({ tenantId, workerId: "wrk_b" }), {
          waiting: 1,
        });
        assertEquals(await store.proveCounts(), 0);
      },
    );

    check("scans the tasks of a status across tenants", async (store) => {
      const all = [
        ...spread("tnt_a", "wrk_a", 1),
        ...spread("tnt_a", "wrk_b", 2),
        ...spread("tnt_b", "wrk_a", 3),
      ];
      await create(store, ...all);
      for (const status of ["running", "blocked"] as const) {
        const wanted = listIds(all.filter((task) => task.status === status));
        for (const limit of [1, 4, 100]) {
          const found = await scanAll(store, { status, limit });
          assertEquals(listIds(found).toSorted(), wanted.toSorted());
        }
      }
    });

    check("scans on behind what was removed meanwhile", async (store) => {
      for (const status of ["running", "blocked"] as const) {
        const tasks = spread(`tnt_${status}`, "wrk_a", status.length)
          .filter((task) => task.status === status);
        await create(store, ...tasks);
        const first = await store.scan({ status, limit: 5 });
        await commitEach(store, ...first.tasks.map(removal));
        const { next } = first;
        const others = next === undefined
          ? []
          : await scanAll(store, { status, limit: 5, after: next });
        assertEquals(first.tasks.length + others.length, tasks.length);
      }
    });
  });
}

async function scanAll(
  store: Store,
  options: Parameters<Store["scan"]>[0],
): Promise<readonly Task[]> {
  const found: Task[] = [];
  let after = options.after;
  do {
    const page = await store.scan({
      ...options,
      ...(after === undefined ? {} : { after }),
    });
    assert(page.tasks.length <= options.limit);
    found.push(...page.tasks);
    after = page.next;
  } while (after !== undefined);
  return found;
}

function spread(tenantId: string, workerId: string, seed: number): Task[] {
  const ids = sampleIds(seed);
  return Object.entries(SPREAD).flatMap(([status, count]) =>
    Array.from({ length: count }, () =>
      sampleTask({
        id: ids.next(),
        tenantId,
        workerId,
        status: status as TaskStatus,
        group: `group ${tenantId}`,
      }))
  );
}
