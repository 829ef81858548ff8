/**
 * Counts by status, and scans across tenants.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { Task } from "../../../domain/task.ts";
import type { TaskStatus } from "../../../domain/task_status.ts";
import type { ScanPosition } from "../../store.ts";
import { removal, sampleIds, sampleTask } from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  create,
  type StoreCase,
  update,
} from "./store_case.ts";

const SPREAD: Readonly<Partial<Record<TaskStatus, number>>> = {
  scheduled: 3,
  waiting: 5,
  running: 2,
  paused: 1,
  complete: 12,
};

/** The demands on counting and scanning. */
export function statusCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("counts by status up to a cap", async (store) => {
      const a = spread("tnt_a", "wrk_a", 1);
      await create(
        store,
        ...a,
        ...spread("tnt_a", "wrk_b", 2),
        ...spread("tnt_b", "wrk_a", 3),
      );
      const tenantId = "tnt_a";
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_a", cap: 100 }),
        SPREAD,
      );
      assertEquals(await store.counts({ tenantId, cap: 100 }), {
        scheduled: 6,
        waiting: 10,
        running: 4,
        paused: 2,
        complete: 24,
      });
      assertEquals(await store.counts({ tenantId, cap: 6 }), {
        scheduled: 6,
        waiting: 6,
        running: 4,
        paused: 2,
        complete: 6,
      });
      const [first] = a;
      if (first === undefined) return;
      const moved = await update(store, first, { status: "blocked" });
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_a", cap: 100 }),
        { ...SPREAD, scheduled: 2, blocked: 1 },
      );
      await commitEach(store, removal(moved));
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_a", cap: 100 }),
        { ...SPREAD, scheduled: 2 },
      );
      assertEquals(
        await store.counts({ tenantId, workerId: "wrk_none", cap: 100 }),
        {},
      );
    });

    check("scans the tasks of some statuses across tenants", async (store) => {
      const all = [
        ...spread("tnt_a", "wrk_a", 1),
        ...spread("tnt_a", "wrk_b", 2),
        ...spread("tnt_b", "wrk_a", 3),
      ];
      await create(store, ...all);
      for (const limit of [1, 4, 100]) {
        const statuses = ["running", "waiting", "failed"] as const;
        const found: Task[] = [];
        let after: ScanPosition | undefined;
        do {
          const page = await store.scan({
            statuses,
            limit,
            ...(after === undefined ? {} : { after }),
          });
          assertEquals(page.tasks.length <= limit, true);
          found.push(...page.tasks);
          after = page.next;
        } while (after !== undefined && found.length <= all.length);
        const byId = (left: Task, right: Task) => left.id < right.id ? -1 : 1;
        assertEquals(
          found.sort(byId),
          all.filter(({ status }) => statuses.some((one) => one === status))
            .sort(byId),
        );
      }
      assertEquals(await store.scan({ statuses: ["failed"], limit: 9 }), {
        tasks: [],
      });
      assertEquals(await store.scan({ statuses: [], limit: 9 }), { tasks: [] });
    });

    check("scans on behind what was removed meanwhile", async (store) => {
      const tasks = spread("tnt_a", "wrk_a", 1)
        .filter(({ status }) => status === "complete");
      await create(store, ...tasks);
      const statuses = ["complete"] as const;
      const first = await store.scan({ statuses, limit: 5 });
      await commitEach(store, ...first.tasks.map(removal));
      const found = [...first.tasks];
      let after = first.next;
      while (after !== undefined && found.length <= tasks.length) {
        const page = await store.scan({ statuses, limit: 5, after });
        found.push(...page.tasks);
        after = page.next;
      }
      assertEquals(found.length, tasks.length);
    });
  });
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
      }))
  );
}
