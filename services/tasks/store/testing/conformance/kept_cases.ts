/**
 * Conformance tests of what is counted as tasks change.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import {
  type ActivityCounts,
  type ActivityQuery,
  NO_ACTIVITY,
  type QueueCounts,
} from "../../kept_counts.ts";
import type { Write } from "../../store.ts";
import type { Task } from "../../../domain/task.ts";
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

const TENANT = "tnt_a";
const MINUTE_MS = 60_000;
const AT_MS = Date.UTC(2030, 0, 1);
const ALL = { workerId: "", job: "" };
const QUERY: ActivityQuery = {
  tenantId: TENANT,
  series: ALL,
  stepMs: MINUTE_MS,
  fromMs: AT_MS,
  toMs: AT_MS + 3_600_000,
};
const EVERY_HOUR: Partial<Task> = {
  repeat: {
    interval: "PT1H",
    catchUp: "one",
    catchUpWindowMs: 0,
    jitterMs: 0,
    mode: "same",
    onFailure: "continue",
  },
};

/** The tests of what is counted as tasks change. */
export function keptCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("adds up activity by span and series", async (store) => {
      const worker = { workerId: "wrk_a", job: "" };
      const job = { workerId: "wrk_a", job: "mail it" };
      const results = await store.commit([
        {
          writes: [
            activity({ counts: { created: 2, lagSumMs: 50, lagMaxMs: 40 } }),
            activity({ series: worker, counts: { created: 1 } }),
          ],
        },
        { writes: [activity({ counts: { created: 3, lagMaxMs: 9 } })] },
      ]);
      assertEquals(results.map(({ kind }) => kind), ["ok", "ok"]);
      await commitEach(
        store,
        activity({ counts: { lost: 1, lagSumMs: 70, lagMaxMs: 70 } }),
        activity({ atMs: AT_MS + MINUTE_MS, counts: { missed: 7 } }),
        activity({ series: job, counts: { runSumMs: 2 ** 40 } }),
        activity({ stepMs: 300_000, counts: { failed: 1 } }),
        activity({ tenantId: "tnt_b", counts: { failed: 1 } }),
      );
      assertEquals(await store.activity(QUERY), [
        {
          ...NO_ACTIVITY,
          atMs: AT_MS,
          created: 5,
          lost: 1,
          lagSumMs: 120,
          lagMaxMs: 70,
        },
        { ...NO_ACTIVITY, atMs: AT_MS + MINUTE_MS, missed: 7 },
      ]);
      const read = async (query: Partial<ActivityQuery>) =>
        (await store.activity({ ...QUERY, ...query })).map(
          ({ atMs, ...counts }) => [
            atMs - AT_MS,
            Object.values(counts).filter((count) => count !== 0).join(),
          ],
        );
      assertEquals(await read({ series: worker }), [[0, "1"]]);
      assertEquals(await read({ series: job }), [[0, `${2 ** 40}`]]);
      assertEquals(await read({ stepMs: 300_000 }), [[0, "1"]]);
      assertEquals(await read({ tenantId: "tnt_c" }), []);
      assertEquals(await read({ toMs: AT_MS }), []);
      assertEquals(await read({ fromMs: AT_MS + 1 }), [[MINUTE_MS, "7"]]);
    });

    check("adds no activity of what is refused", async (store) => {
      const task = creation(sampleTask({ id: sampleIds().next() }));
      await commitEach(store, task);
      const results = await store.commit([
        { writes: [activity({ counts: { created: 1 } }), task] },
        { writes: [task, activity({ counts: { created: 2 } })] },
        { writes: [activity({ counts: { created: 4 } })] },
      ]);
      assertEquals(
        results.map(({ kind }) => kind),
        ["conflict", "conflict", "ok"],
      );
      const [point] = await store.activity(QUERY);
      assertEquals(point?.created, 4);
    });

    check(
      "sweeps activity that has expired, by its latest write",
      async (store) => {
        const of = (expiresAtMs: number, atMs = AT_MS): Write =>
          activity({ expiresAtMs, atMs, counts: { created: 1 } });
        await commitEach(
          store,
          of(2_000),
          of(1_000),
          of(1_000, AT_MS + MINUTE_MS),
        );
        // Spans may wait to be added to those of the same time.
        for (let round = 0; round < 3; round++) await store.sweep(1_999, 9);
        const read = async () =>
          (await store.activity(QUERY)).map(({ atMs }) => atMs - AT_MS);
        assertEquals((await read()).includes(0), true);
        assertEquals((await store.activity(QUERY))[0]?.created, 2);
      },
    );

    check("tells the longest queues by worker and by job", async (store) => {
      const ids = sampleIds();
      const make = (workerId: string, job: string, count: number) =>
        Array.from(
          { length: count },
          () =>
            sampleTask({ id: ids.next(), workerId, job, status: "waiting" }),
        );
      const [first] = make("wrk_a", "one", 1);
      const others = [
        ...make("wrk_a", "one", 4),
        ...make("wrk_a", "two", 3),
        ...make("wrk_b", "one", 6),
        ...make("wrk_c", "one", 1),
      ];
      await create(store, first!, ...others);
      const query = {
        tenantId: TENANT,
        statuses: ["waiting", "failed"],
        limit: 2,
      } as const;
      const read = async (by: "worker" | "job", limit = 9) =>
        (await store.topCounts({ ...query, by, limit })).map(tellQueue).sort();
      assertEquals(await read("worker"), [
        "wrk_a 8 waiting",
        "wrk_b 6 waiting",
        "wrk_c 1 waiting",
      ]);
      const top = await read("job", 2);
      assertEquals(top.includes("wrk_a/one 5 waiting"), true);
      assertEquals(top.includes("wrk_b/one 6 waiting"), true);
      const moved = await update(store, first!, {
        workerId: "wrk_c",
        job: "two",
        status: "failed",
      });
      const renamed = await update(store, others[0]!, { job: "three" });
      assertEquals(await read("job"), [
        "wrk_a/one 3 waiting",
        "wrk_a/three 1 waiting",
        "wrk_a/two 3 waiting",
        "wrk_b/one 6 waiting",
        "wrk_c/one 1 waiting",
        "wrk_c/two 1 failed",
      ]);
      assertEquals(await read("worker"), [
        "wrk_a 7 waiting",
        "wrk_b 6 waiting",
        "wrk_c 1 failed, 1 waiting",
      ]);
      await commitEach(store, removal(moved), removal(renamed));
      await store.sweep(0, 100);
      assertEquals((await read("job")).includes("wrk_c/two 1 failed"), false);
      assertEquals(await store.proveCounts(), 0);
      assertEquals(
        await store.topCounts({ ...query, by: "job", tenantId: "tnt_b" }),
        [],
      );
    });

    check("tells late tasks by worker and job", async (store) => {
      const ids = sampleIds();
      const of = (patch: Partial<Task>): Task =>
        sampleTask({ id: ids.next(), workerId: "wrk_a", ...patch });
      await create(
        store,
        of({ status: "waiting", job: "one", dateMs: 1_000 }),
        of({ status: "waiting", job: "one", dateMs: 3_000 }),
        of({ status: "retry", job: "one", dateMs: 500 }),
        of({ status: "retry", job: "two", dateMs: 9_000 }),
        of({ status: "waiting", job: "two", dateMs: 2_000 }),
        of({ status: "scheduled", job: "two", dateMs: 2_000 }),
        of({ status: "waiting", workerId: "wrk_b", dateMs: 2_500 }),
        of({ status: "waiting", workerId: "wrk_c", dateMs: 2_500 }),
      );
      const read = async (limit: number, maxRead = limit) =>
        (await store.lateTasks({
          tenantId: TENANT,
          workerIds: ["wrk_a", "wrk_b", "wrk_none"],
          beforeMs: 3_000,
          ...{ limit, maxRead },
        })).map(({ workerId, count, sinceMs, isExact, jobs }) => {
          const each = [...jobs].map(([job, late]) =>
            `${job} ${late.count} since ${late.sinceMs}`
          ).sort().join(", ");
          return `${workerId} ${count}${isExact ? "" : " or more"} since ` +
            `${sinceMs}: ${each}`;
        }).sort();
      assertEquals(await read(9), [
        "wrk_a 3 since 500: one 2 since 500, two 1 since 2000",
        "wrk_b 1 since 2500: default 1 since 2500",
      ]);
      assertEquals(await read(9, 1), [
        "wrk_a 3 since 500: one 2 since 500",
        "wrk_b 1 since 2500: default 1 since 2500",
      ]);
      assertEquals(await read(1), [
        "wrk_a 2 or more since 500: one 2 since 500",
        "wrk_b 1 or more since 2500: default 1 since 2500",
      ]);
    });

    check("finds repeating tasks whose last run failed", async (store) => {
      const ids = sampleIds();
      const of = (patch: Partial<Task> = {}): Task =>
        sampleTask({ id: ids.next(), ...EVERY_HOUR, ...patch });
      const tasks = [of(), of(), of({ repeat: undefined }), of()];
      await create(store, ...tasks);
      const read = async (limit = 9) =>
        listIds(await store.failingTasks({ tenantId: TENANT, limit }));
      assertEquals(await read(), []);
      const fail = (task: Task, atMs: number): Task =>
        changed(task, {
          status: "scheduled",
          lastOutcome: "failed",
          error: { code: "boom", message: "It broke", atMs },
        });
      const failed = tasks.map((task, index) => fail(task, 1_000 + index));
      await commitEach(store, ...failed.map(change));
      const [one, two, , four] = tasks;
      assertEquals(await read(), [four?.id, two?.id, one?.id]);
      assertEquals(await read(2), [four?.id, two?.id]);
      await update(store, failed[3]!, { lastOutcome: "succeeded" });
      await update(store, failed[1]!, { status: "canceled" });
      const ended = await update(store, failed[0]!, { status: "failed" });
      assertEquals(await read(), [one?.id]);
      await commitEach(store, removal(ended));
      assertEquals(await read(), []);
    });
  });
}

function activity(
  { counts, ...of }:
    & Partial<Omit<Extract<Write, { kind: "activity" }>, "counts">>
    & { readonly counts: Partial<ActivityCounts> },
): Write {
  return {
    kind: "activity",
    tenantId: TENANT,
    series: ALL,
    stepMs: MINUTE_MS,
    atMs: AT_MS,
    expiresAtMs: Date.UTC(2090, 0, 1),
    counts: { ...NO_ACTIVITY, ...counts },
    ...of,
  };
}

function tellQueue({ workerId, job, counts }: QueueCounts): string {
  const each = Object.entries(counts).filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`).sort();
  return `${workerId}${job === undefined ? "" : `/${job}`} ${each.join(", ")}`;
}
