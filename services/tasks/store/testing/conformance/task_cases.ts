/**
 * Conformance tests of tasks: their fields, versions and payloads, and the
 * separation of tenants.
 *
 * @module
 */

import { assertEquals, assertRejects } from "@std/assert";
import { FINAL_STATUSES, LIVE_STATUSES } from "../../../domain/task.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleAttempt,
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

/** The tests of tasks. */
export function taskCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("gives a task back as it was written", async (store) => {
      const ids = sampleIds();
      const plain = sampleTask({ id: ids.next() });
      const full = fullTask(ids.next());
      await create(store, plain, full);
      assertEquals(await store.task(TENANT, plain.id), plain);
      assertEquals(await store.task(TENANT, full.id), full);
      const bare = await update(store, plain, { retry: null, isDue: false });
      assertEquals(await store.task(TENANT, plain.id), bare);
    });

    check("takes no instants but whole milliseconds", async (store) => {
      const ids = sampleIds();
      const task = sampleTask({ id: ids.next() });
      await create(store, task);
      const attempt = sampleAttempt(task);
      for (
        const patch of [
          { dateMs: SAMPLE_MS + 0.5 },
          {
            status: "running",
            attempt: { ...attempt, expiresAtMs: SAMPLE_MS + 0.25 },
          },
        ] as const
      ) {
        await assertRejects(
          () => store.commit([{ writes: [change(changed(task, patch))] }]),
          TypeError,
          "its times are not in whole milliseconds",
        );
      }
      assertEquals(await store.task(TENANT, task.id), task);
    });

    check("gives several tasks in the order asked", async (store) => {
      const ids = sampleIds();
      const [first, second] = [
        sampleTask({ id: ids.next() }),
        sampleTask({ id: ids.next() }),
      ];
      await create(store, first, second);
      const missing = ids.next();
      assertEquals(
        await store.tasks(TENANT, [
          second.id,
          missing,
          first.id,
          second.id,
          "nonsense",
        ]),
        [second, undefined, first, second, undefined],
      );
      assertEquals(await store.tasks(TENANT, []), []);
    });

    check("tells ids apart that differ in chance only", async (store) => {
      const id = sampleIds().next();
      const other = id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");
      const task = sampleTask({ id });
      await create(store, task);
      assertEquals(await store.task(TENANT, other), undefined);
      assertEquals(
        await commitTransaction(
          store,
          change(changed({ ...task, id: other }, {})),
        ),
        { kind: "conflict", write: 0, reason: "version" },
      );
      assertEquals(
        await commitTransaction(store, removal({ ...task, id: other })),
        { kind: "conflict", write: 0, reason: "version" },
      );
      assertEquals(await store.task(TENANT, id), task);
    });

    check("demands the version that is there", async (store) => {
      const task = sampleTask({ id: sampleIds().next() });
      const conflict = { kind: "conflict", write: 0, reason: "version" };
      const next = changed(task, { run: 1 });
      assertEquals(
        await commitTransaction(store, change(next)),
        conflict as unknown,
      );
      await create(store, task);
      assertEquals(
        await commitTransaction(store, creation(task)),
        conflict as unknown,
      );
      const skipped = { ...next, version: 3 };
      assertEquals(
        await commitTransaction(store, change(skipped)),
        conflict as unknown,
      );
      await commitEach(store, change(next));
      assertEquals(
        await commitTransaction(store, removal(task)),
        conflict as unknown,
      );
      assertEquals(await store.task(TENANT, task.id), next);
    });

    check(
      "takes the removal of nothing as a demand that nothing is there",
      async (store) => {
        const task = sampleTask({ id: sampleIds().next() });
        const none = { ...removal(task), expectedVersion: 0 };
        assertEquals(await commitTransaction(store, none), { kind: "ok" });
        assertEquals(
          await commitTransaction(store, none, creation(task)),
          { kind: "ok" },
        );
        assertEquals(
          await commitTransaction(store, none),
          { kind: "conflict", write: 0, reason: "version" },
        );
        assertEquals(await store.task(TENANT, task.id), task);
      },
    );

    check("keeps payloads of any size and script", async (store) => {
      const ids = sampleIds();
      const texts = [
        "null",
        '""',
        JSON.stringify("ä€😀\u0000\u2028\ud800 ' \" \\ %"),
        JSON.stringify("x".repeat(2_000)),
        JSON.stringify("€".repeat(3_000)),
        JSON.stringify("y".repeat(1_048_576)),
      ];
      for (const text of texts) {
        let task = sampleTask({ id: ids.next(), dataJson: text });
        await create(store, task);
        assertEquals(await store.task(TENANT, task.id), task);
        task = await update(store, task, { run: 1, resultJson: text });
        assertEquals(await store.task(TENANT, task.id), task);
        task = await update(store, task, { dataJson: "[1]", run: 2 });
        assertEquals(await store.task(TENANT, task.id), task);
        task = await update(store, task, { dataJson: `[${text}]` });
        assertEquals(await store.task(TENANT, task.id), task);
        const rest = changed(task, { resultJson: undefined });
        await commitEach(store, change(rest));
        assertEquals(await store.task(TENANT, task.id), rest);
        await commitEach(store, removal(rest));
        assertEquals(await store.task(TENANT, task.id), undefined);
      }
    });

    check("takes a large payload that was there before", async (store) => {
      const large = JSON.stringify("x".repeat(10_000));
      const other = JSON.stringify("y".repeat(10_000));
      let task = sampleTask({ id: sampleIds().next(), dataJson: large });
      await create(store, task);
      for (const dataJson of ["1", large, other, large, "null", large]) {
        task = await update(store, task, { dataJson });
        assertEquals(await store.task(TENANT, task.id), task);
      }
    });

    check("keeps a large payload through changes that lose", async (store) => {
      const old = JSON.stringify("old".repeat(5_000));
      const fresh = JSON.stringify("new".repeat(5_000));
      const task = sampleTask({ id: sampleIds().next(), dataJson: old });
      await create(store, task);
      const lost = changed(changed(task, {}), { dataJson: fresh });
      assertEquals(
        (await commitTransaction(store, change(lost)))?.kind,
        "conflict",
      );
      assertEquals(await store.task(TENANT, task.id), task);
      const next = changed(task, { dataJson: fresh });
      assertEquals(await commitTransaction(store, change(next)), {
        kind: "ok",
      });
      assertEquals(await store.task(TENANT, task.id), next);
      const again = await update(store, next, { dataJson: old });
      assertEquals(await store.task(TENANT, task.id), again);
    });

    check("keeps tenants apart", async (store) => {
      const { task, history } = withHistory(
        sampleTask({ id: sampleIds().next(), key: "k" }),
        [{}],
      );
      await commitEach(store, { ...creation(task), history });
      const tenantId = "tnt_b";
      assertEquals(await store.task(tenantId, task.id), undefined);
      assertEquals(await store.tasks(tenantId, [task.id]), [undefined]);
      assertEquals(
        await store.taskByKey({ tenantId, workerId: "wrk_a", key: "k" }),
        undefined,
      );
      assertEquals(
        await store.history({
          tenantId,
          taskId: task.id,
          order: "asc",
          limit: 9,
        }),
        { records: [] },
      );
      const list = {
        tenantId,
        by: "date",
        sort: "date",
        order: "asc",
      } as const;
      assertEquals(
        await store.listTasks({ ...list, limit: 9, count: true }),
        { tasks: [], next: undefined, count: { value: 0, isExact: true } },
      );
      assertEquals(
        await store.candidates({ tenantId, workerId: "wrk_a", limit: 9 }),
        [],
      );
      assertEquals(await store.counts({ tenantId }), {});
      const foreign = { ...task, tenantId };
      for (
        const write of [
          creation(foreign),
          change(changed(foreign, {})),
          removal(foreign),
        ]
      ) {
        assertEquals(
          await commitTransaction(store, write),
          { kind: "conflict", write: 0, reason: "version" },
        );
      }
      assertEquals(await store.task(TENANT, task.id), task);
    });

    check("keeps every status", async (store) => {
      const ids = sampleIds();
      const tasks = [...LIVE_STATUSES, ...FINAL_STATUSES].map((status) => {
        const task = sampleTask({ id: ids.next(), status });
        return status === "running"
          ? { ...task, attempt: sampleAttempt(task) }
          : task;
      });
      await create(store, ...tasks);
      assertEquals(
        await store.tasks(TENANT, tasks.map(({ id }) => id)),
        tasks,
      );
    });
  });
}

function fullTask(id: string): ReturnType<typeof sampleTask> {
  const task = sampleTask({
    id,
    parentId: sampleIds(9).next(),
    job: "zusammen führen",
    repeat: {
      cron: "0 3 * * *",
      limit: 4,
      untilMs: SAMPLE_MS + 1e9,
      catchUp: "all",
      catchUpWindowMs: 86_400_000,
      jitterMs: 500,
      mode: "spawn",
      onFailure: "continue",
    },
    retry: { limit: 3, on: ["5xx", 429], nested: [null, { a: 1.5 }] },
    timeoutMs: 5_000,
    expiresAtMs: SAMPLE_MS + 3_600_000,
    onDependencyFailure: "wait",
    priority: -9,
    group: "gruppe 'eins'",
    key: "schlüssel",
    callback: { url: "https://example.com/done", on: ["failed", "expired"] },
    tags: ["a", "b c"],
    metadata: { "k.1": "v", __proto__x: '"' },
    status: "running",
    pausedFrom: "retry",
    run: 3,
    isRepetition: false,
    held: { slotMs: SAMPLE_MS + 7, dateMs: SAMPLE_MS + 8 },
    scheduleSinceMs: SAMPLE_MS + 6,
    startWithinMs: 7,
    calls: { kind: "throttle", untilMs: SAMPLE_MS + 8 },
    again: { dateMs: SAMPLE_MS + 9, calls: { kind: "debounce", sinceMs: 1 } },
    executions: 9,
    retries: 2,
    repetitions: 3,
    lost: 1,
    lostInRow: 1,
    missed: 5,
    lagMs: 12,
    durationMs: 34,
    lastOutcome: "failed",
    resultJson: '{"ok":true}',
    isResultTruncated: true,
    error: {
      code: "http_status",
      message: "answered 503",
      detailJson: "{}",
      httpStatus: 503,
      atMs: SAMPLE_MS,
    },
    settled: { id: "lse_x_1", tokenHash: "h", outcome: "lost" },
    fence: 10,
    firstTriedAtMs: SAMPLE_MS - 5,
    startedAtMs: SAMPLE_MS - 4,
    finishedAtMs: SAMPLE_MS - 3,
    purgeAtMs: SAMPLE_MS + 1,
  });
  return {
    ...task,
    attempt: {
      ...sampleAttempt(task),
      bootId: "boot",
      instance: "host-1",
      progressJson: "0.5",
    },
  };
}
