/**
 * Conformance tests of the queries for waking tasks and for running ones.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type { Task } from "../../../domain/task.ts";
import {
  removal,
  SAMPLE_MS,
  sampleAttempt,
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

/** The tests of waking and running tasks. */
export function dueCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("wakes tasks in the order of their instants", async (store) => {
      const ids = sampleIds();
      const scheduled = (dateMs: number, tenantId = "tnt_a") =>
        sampleTask({
          id: ids.next(),
          tenantId,
          status: "scheduled",
          isDue: false,
          dateMs,
        });
      const third = scheduled(SAMPLE_MS + 30);
      const first = scheduled(SAMPLE_MS + 10, "tnt_b");
      const second = scheduled(SAMPLE_MS + 20);
      const tied = scheduled(SAMPLE_MS + 20);
      assertEquals(await store.nextWakeMs(), undefined);
      await create(
        store,
        third,
        first,
        second,
        tied,
        sampleTask({ id: ids.next() }),
      );
      assertEquals(await store.nextWakeMs(), SAMPLE_MS + 10);
      assertEquals(await store.waking(SAMPLE_MS + 9, 10), []);
      assertEquals(await store.waking(SAMPLE_MS + 10, 10), [first]);
      assertEquals(await store.waking(SAMPLE_MS + 99, 10), [
        first,
        second,
        tied,
        third,
      ]);
      assertEquals(await store.waking(SAMPLE_MS + 99, 2), [first, second]);
      const after = (task: Task, limit: number): Promise<readonly Task[]> =>
        store.waking(SAMPLE_MS + 99, limit, {
          wakeAtMs: task.dateMs,
          id: task.id,
        });
      assertEquals(await after(first, 1), [second]);
      assertEquals(await after(second, 9), [tied, third]);
      assertEquals(await after(third, 9), []);
      assertEquals(await store.nextWakeMs(SAMPLE_MS + 9), SAMPLE_MS + 10);
      assertEquals(await store.nextWakeMs(SAMPLE_MS + 10), SAMPLE_MS + 20);
      assertEquals(await store.nextWakeMs(SAMPLE_MS + 30), undefined);
      const moved = await update(store, first, { dateMs: SAMPLE_MS + 40 });
      assertEquals(await store.nextWakeMs(), SAMPLE_MS + 20);
      assertEquals((await store.waking(SAMPLE_MS + 99, 10)).at(-1), moved);
      await commitEach(store, removal(second), removal(tied), removal(third));
      assertEquals(await store.nextWakeMs(), SAMPLE_MS + 40);
      await update(store, moved, { status: "paused" });
      assertEquals(await store.nextWakeMs(), undefined);
    });

    check("finds what other tenants have to be woken", async (store) => {
      const ids = sampleIds();
      const scheduled = (delayMs: number, tenantId: string) =>
        sampleTask({
          id: ids.next(),
          tenantId,
          status: "scheduled",
          isDue: false,
          dateMs: SAMPLE_MS + delayMs,
        });
      const toPosition = ({ dateMs, id }: Task) => ({ wakeAtMs: dateMs, id });
      const tasks = ["tnt_a", "tnt_b", "tnt_a", "tnt_a", "tnt_c", "tnt_b"]
        .map((tenantId, index) => scheduled(index, tenantId));
      const [first, second, third, , fifth, sixth] = tasks;
      assert(first && second && third && fifth && sixth);
      await create(store, ...tasks);
      const look = (after: Task, maxLooked: number, nowMs = SAMPLE_MS + 99) =>
        store.wakingOfOthers({
          ...{ nowMs, maxLooked, after: toPosition(after) },
          except: new Set(["tnt_a", "tnt_c", "tnt_none"]),
        });
      assertEquals(await look(first, 9), {
        tasks: [second, sixth],
        next: toPosition(sixth),
      });
      assertEquals(await look(first, 2), {
        tasks: [second],
        next: toPosition(third),
      });
      assertEquals(await look(third, 2), {
        tasks: [],
        next: toPosition(fifth),
      });
      assertEquals(await look(third, 9, SAMPLE_MS + 4), {
        tasks: [],
        next: toPosition(fifth),
      });
      assertEquals(await look(sixth, 9), { tasks: [], next: undefined });
    });

    check("wakes for leases, expiries and the end in store", async (store) => {
      const ids = sampleIds();
      const running = sampleTask({ id: ids.next(), status: "running" });
      await create(
        store,
        { ...running, attempt: sampleAttempt(running) },
        sampleTask({ id: ids.next(), expiresAtMs: SAMPLE_MS + 40_000 }),
        sampleTask({
          id: ids.next(),
          status: "failed",
          purgeAtMs: SAMPLE_MS + 20_000,
        }),
        sampleTask({ id: ids.next(), status: "complete" }),
      );
      const woken = await store.waking(SAMPLE_MS + 40_000, 10);
      assertEquals(
        woken.map(({ status }) => status),
        ["failed", "running", "waiting"],
      );
    });

    check("counts what a worker has under way", async (store) => {
      const ids = sampleIds();
      const run = (group: string, over = {}) => {
        const task = sampleTask({ id: ids.next(), status: "running", group });
        return { ...task, attempt: sampleAttempt(task), ...over };
      };
      const last = run("b");
      await create(
        store,
        run(""),
        run(""),
        run("a"),
        run("a"),
        last,
        run("b", { workerId: "wrk_b" }),
        run("b", { tenantId: "tnt_b" }),
        sampleTask({ id: ids.next(), group: "a" }),
      );
      assertEquals(await store.running("tnt_a", "wrk_a"), {
        all: 5,
        groups: new Map([["a", 2], ["b", 1]]),
      });
      await update(store, last, { status: "complete", attempt: undefined });
      assertEquals(await store.running("tnt_a", "wrk_a"), {
        all: 4,
        groups: new Map([["a", 2]]),
      });
      const groups = await store.runningGroups("tnt_a");
      assertEquals(
        groups.filter(({ workerId }) => workerId === "wrk_a")
          .map(({ group, count }) => [group, count]),
        [...(await store.running("tnt_a", "wrk_a")).groups],
      );
      assertEquals(await store.runningGroups("tnt_none"), []);
      assertEquals(await store.running("tnt_a", "wrk_none"), {
        all: 0,
        groups: new Map(),
      });
    });

    check(
      "wakes short when payloads are large, and never nothing",
      async (store) => {
        const ids = sampleIds();
        const dataJson = JSON.stringify("x".repeat(900_000));
        const tasks = Array.from({ length: 20 }, (_, index) =>
          sampleTask({
            id: ids.next(),
            status: "scheduled",
            isDue: false,
            dateMs: SAMPLE_MS + index,
            dataJson,
          }));
        await create(store, ...tasks);
        const woken: (string | undefined)[] = [];
        for (let count = 0; count < 40 && woken.length < 20; count++) {
          const some = await store.waking(SAMPLE_MS + 99, 20);
          assertEquals(some.length > 0, true);
          woken.push(...listIds(some));
          await commitEach(store, ...some.map(removal));
        }
        assertEquals(woken, listIds(tasks));
      },
    );
  });
}
