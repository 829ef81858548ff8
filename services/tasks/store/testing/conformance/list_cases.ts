/**
 * Conformance tests of list filters, each alone and together with others.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import { isFinal, type Task, TASK_STATUSES } from "../../../domain/task.ts";
import type { TaskQuery } from "../../queries.ts";
import {
  creation,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../sample_tasks.ts";
import {
  collectCases,
  create,
  listIds,
  readList,
  type StoreCase,
  update,
} from "./store_case.ts";

const WORKERS = ["wrk_a", "wrk_b", "wrk_c"];
const JOBS = ["mail", "pdf"];
const GROUPS = ["", "g", "ä"];
const TAGS = ["red", "green", 'qu"ote', "per%cent", "\\", "😀"];
const FILTER = { by: "date", sort: "date", order: "asc", limit: 50 } as const;

/** A filter, and whether it matches a task. */
type FilterCase = readonly [Partial<TaskQuery>, (task: Task) => boolean];

/** The tests of list filters. */
export function listCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("filters lists by each field", async (store) => {
      const tasks = drawTasks(60);
      await create(store, ...tasks);
      const filters: readonly FilterCase[] = [
        [{}, () => true],
        [{ workerIds: ["wrk_b"] }, (task) => task.workerId === "wrk_b"],
        [
          { workerIds: ["wrk_b", "wrk_c", "wrk_none"] },
          (task) => task.workerId !== "wrk_a",
        ],
        [{ workerIds: ["wrk_none"] }, () => false],
        [{ statuses: ["retry"] }, (task) => task.status === "retry"],
        [
          { statuses: ["retry", "failed", "complete"] },
          (task) => ["retry", "failed", "complete"].includes(task.status),
        ],
        [{ statuses: [] }, () => false],
        [{ job: "pdf" }, (task) => task.job === "pdf"],
        [{ group: "ä" }, (task) => task.group === "ä"],
        [{ group: "" }, (task) => task.group === ""],
        [{ key: "key 3" }, (task) => task.key === "key 3"],
        [{ key: "key" }, () => false],
        [{ isDue: true }, isTakeable],
        [{ isDue: false }, (task) => !isTakeable(task)],
        [
          { errorCode: "timed_out" },
          (task) => task.error?.code === "timed_out",
        ],
        [{ errorCode: "timed" }, () => false],
        [{ repeats: true }, (task) => task.repeat !== undefined],
        [{ repeats: false }, (task) => task.repeat === undefined],
        [{ awaits: "event" }, (task) => task.wait?.for?.kind === "event"],
        [
          { awaits: "approval", workerIds: ["wrk_a"] },
          (task) =>
            task.wait?.for?.kind === "approval" && task.workerId === "wrk_a",
        ],
        ...TAGS.map((tag) =>
          [{ tags: [tag] }, (task: Task) => task.tags.includes(tag)] as const
        ),
        [
          { tags: ["red", "green"] },
          (task) => task.tags.includes("red") && task.tags.includes("green"),
        ],
        [{ tags: ["re", "reda", ""] }, () => false],
        [{ metadata: { a: "1" } }, (task) => task.metadata["a"] === "1"],
        [
          { metadata: { 'b."c': "x'y" } },
          (task) => task.metadata['b."c'] === "x'y",
        ],
        [
          { metadata: { a: "1", 'b."c': "x'y" } },
          (task) =>
            task.metadata["a"] === "1" && task.metadata['b."c'] === "x'y",
        ],
        [{ metadata: { toString: "1" } }, () => false],
        [
          { fromMs: SAMPLE_MS, toMs: SAMPLE_MS + 5 },
          (task) => task.dateMs >= SAMPLE_MS && task.dateMs <= SAMPLE_MS + 5,
        ],
        [
          { by: "created_at", toMs: SAMPLE_MS },
          (task) => task.createdAtMs <= SAMPLE_MS,
        ],
        [
          { by: "finished_at", fromMs: SAMPLE_MS + 3 },
          (task) => (task.finishedAtMs ?? 0) >= SAMPLE_MS + 3,
        ],
        [{ by: "finished_at" }, () => true],
      ];
      for (const [filter, matches] of filters) {
        const wanted = listIds(tasks.filter(matches)).toSorted();
        for (const sort of ["date", "created_at"] as const) {
          const query = { ...FILTER, tenantId: "tnt_a", ...filter, sort };
          const list = await readList(store, { ...query, count: true });
          assertEquals(
            listIds(list.tasks).toSorted(),
            wanted,
            JSON.stringify(query),
          );
          assertEquals(list.count, { value: wanted.length, isExact: true });
        }
      }
    });

    check("takes all conditions together", async (store) => {
      const random = new SeededRandom(11);
      const tasks = drawTasks(150);
      await create(store, ...tasks);
      let found = 0;
      for (let round = 0; round < 80; round++) {
        const query: TaskQuery = {
          tenantId: "tnt_a",
          by: random.pick(["date", "created_at", "finished_at"] as const),
          sort: random.pick(["date", "created_at"] as const),
          order: random.pick(["asc", "desc"] as const),
          limit: 1 + random.below(30),
          ...(random.chance(0.4)
            ? { workerIds: WORKERS.filter(() => random.chance(0.6)) }
            : {}),
          ...(random.chance(0.4)
            ? { statuses: TASK_STATUSES.filter(() => random.chance(0.6)) }
            : {}),
          ...(random.chance(0.3) ? { job: random.pick(JOBS) } : {}),
          ...(random.chance(0.3) ? { group: random.pick(GROUPS) } : {}),
          ...(random.chance(0.3) ? { tags: [random.pick(TAGS)] } : {}),
          ...(random.chance(0.2) ? { metadata: { a: "1" } } : {}),
          ...(random.chance(0.2) ? { isDue: random.chance(0.5) } : {}),
          ...(random.chance(0.3) ? { repeats: random.chance(0.5) } : {}),
          ...(random.chance(0.1)
            ? { awaits: random.pick(["event", "approval"] as const) }
            : {}),
          ...(random.chance(0.3)
            ? { fromMs: SAMPLE_MS + random.below(8) - 4 }
            : {}),
          ...(random.chance(0.3) ? { toMs: SAMPLE_MS + random.below(8) } : {}),
        };
        const wanted = tasks.filter((task) => isWanted(task, query))
          .sort((left, right) => compareBy(query, left, right));
        const list = await readList(store, query);
        assertEquals(
          listIds(list.tasks),
          listIds(wanted),
          JSON.stringify(query),
        );
        found += wanted.length;
      }
      assert(found > 300, `only ${found} tasks were found in all`);
    });

    check(
      "fills pages of tasks that repeat among many that do not",
      async (store) => {
        const ids = sampleIds();
        // More than a page may look at come before, between and behind.
        const tasks = Array.from({ length: 22_000 }, (_, index) =>
          sampleTask({
            id: ids.next(),
            workerId: WORKERS[index % 2]!,
            status: index % 3 === 0 ? "paused" : "scheduled",
            createdAtMs: SAMPLE_MS + index,
            dateMs: SAMPLE_MS + index * 7_919 % 22_003,
            ...(index % 1_000 === 1 ? { wait: AWAITS.event } : {}),
            ...(index > 20_500 && index % 50 === 0
              ? { repeat: REPEAT, dateMs: SAMPLE_MS + 21_990 + index % 7 }
              : {}),
          }));
        await store.commit(toTransactions(...tasks.map(creation)));
        for (
          const filter of [
            {},
            { workerIds: ["wrk_a"] },
            { statuses: ["paused"] },
            { workerIds: ["wrk_a"], statuses: ["scheduled"] },
          ] as const
        ) {
          for (const sort of ["date", "created_at"] as const) {
            for (const order of ["asc", "desc"] as const) {
              const query: TaskQuery = {
                ...FILTER,
                ...filter,
                tenantId: "tnt_a",
                sort,
                order,
                repeats: true,
              };
              const wanted = listIds(
                tasks.filter((task) => isWanted(task, query))
                  .sort((left, right) => compareBy(query, left, right)),
              );
              const first = await store.listTasks({ ...query, limit: 8 });
              assertEquals(listIds(first.tasks), wanted.slice(0, 8));
              const whole = await readList(store, { ...query, count: true });
              assertEquals(listIds(whole.tasks), wanted);
              assertEquals(whole.count, {
                value: wanted.length,
                isExact: true,
              });
            }
          }
        }
        const query: TaskQuery = {
          ...{ ...FILTER, tenantId: "tnt_a", sort: "date", awaits: "event" },
        };
        const wanted = tasks.filter((task) => isWanted(task, query))
          .sort((left, right) => compareBy(query, left, right));
        assertEquals(wanted.length, 22);
        assertEquals((await store.listTasks(query)).tasks, wanted);
      },
    );

    check("follows tasks that begin and cease to wait", async (store) => {
      const ids = sampleIds();
      const first = sampleTask({ id: ids.next(), wait: AWAITS.event });
      const second = sampleTask({ id: ids.next() });
      await create(store, first, second);
      const list = async (awaits: TaskQuery["awaits"]) =>
        (await store.listTasks({ ...FILTER, tenantId: "tnt_a", awaits })).tasks;
      assertEquals(await list("event"), [first]);
      await update(store, first, { wait: undefined });
      const begun = await update(store, second, { wait: AWAITS.approval });
      assertEquals(await list("event"), []);
      assertEquals(await list("approval"), [begun]);
      const moved = await update(store, begun, { workerId: "wrk_b" });
      assertEquals(await list("approval"), [moved]);
    });

    check("follows tasks that begin and cease to repeat", async (store) => {
      const ids = sampleIds();
      const first = sampleTask({ id: ids.next(), repeat: REPEAT });
      const second = sampleTask({ id: ids.next() });
      await create(store, first, second);
      const list = async (repeats: boolean, sort: TaskQuery["sort"]) =>
        (await store.listTasks({ ...FILTER, tenantId: "tnt_a", repeats, sort }))
          .tasks;
      const ceased = await update(store, first, { repeat: undefined });
      const begun = await update(store, second, { repeat: REPEAT });
      const moved = await update(store, begun, { workerId: "wrk_b" });
      for (const sort of ["date", "created_at"] as const) {
        assertEquals(await list(true, sort), [moved]);
        assertEquals(await list(false, sort), [ceased]);
      }
    });

    check("counts the whole list, not what is left of it", async (store) => {
      await create(store, ...drawTasks(30));
      const query = { ...FILTER, tenantId: "tnt_a", limit: 7, count: true };
      const first = await store.listTasks(query);
      assertEquals(first.count, { value: 30, isExact: true });
      if (first.next === undefined) throw new Error("There is no next page");
      const second = await store.listTasks({ ...query, after: first.next });
      assertEquals(second.count, { value: 30, isExact: true });
      const { count: _, ...plain } = query;
      assertEquals((await store.listTasks(plain)).count, undefined);
    });

    check("keeps pages of large payloads short", async (store) => {
      const ids = sampleIds();
      const dataJson = JSON.stringify("x".repeat(1_000_000));
      const tasks = Array.from(
        { length: 30 },
        () => sampleTask({ id: ids.next(), dataJson }),
      );
      await create(store, ...tasks);
      const query = { ...FILTER, tenantId: "tnt_a", limit: 30 };
      assertEquals((await readList(store, query)).tasks, tasks);
    });
  });
}

const REPEAT: Task["repeat"] = {
  cron: "0 8 * * *",
  catchUp: "one",
  catchUpWindowMs: 86_400_000,
  onTimeMs: 10_000,
  jitterMs: 0,
  mode: "same",
  onFailure: "continue",
};

const SINCE = { sinceMs: SAMPLE_MS, onTimeout: "resume" } as const;

const AWAITS = {
  event: { for: { kind: "event", event: "paid", ...SINCE } },
  approval: {
    for: { kind: "approval", by: "admin", byAnother: true, ...SINCE },
    stateJson: '"a\\"wait"',
  },
} as const satisfies Readonly<Record<string, Task["wait"]>>;

function drawTasks(count: number): Task[] {
  const random = new SeededRandom(count);
  const ids = sampleIds();
  let createdAtMs = SAMPLE_MS - 10;
  return Array.from({ length: count }, (_, index) => {
    const status = random.pick(TASK_STATUSES);
    createdAtMs += random.below(2);
    return sampleTask({
      id: ids.next(),
      status,
      workerId: random.pick(WORKERS),
      job: random.pick(JOBS),
      group: random.pick(GROUPS),
      ...(random.chance(0.5) ? { key: `key ${index % 7} ${index}` } : {}),
      ...(index === 3 ? { key: "key 3" } : {}),
      ...(index % 4 === 1 ? { repeat: REPEAT } : {}),
      ...(index % 5 === 1 ? { wait: AWAITS.event } : {}),
      ...(index % 5 === 2 ? { wait: AWAITS.approval } : {}),
      tags: TAGS.filter(() => random.chance(0.3)),
      metadata: {
        ...(random.chance(0.5) ? { a: random.pick(["1", "2"]) } : {}),
        ...(random.chance(0.5) ? { 'b."c': "x'y" } : {}),
      },
      isDue: random.chance(0.5),
      dateMs: SAMPLE_MS + random.below(12) - 4,
      createdAtMs,
      ...(isFinal(status) ? { finishedAtMs: SAMPLE_MS + random.below(6) } : {}),
      ...(random.chance(0.3)
        ? { error: { code: "timed_out", message: "red", atMs: SAMPLE_MS } }
        : {}),
    });
  });
}

function isTakeable({ status, isDue }: Task): boolean {
  return isDue && ["waiting", "retry", "done"].includes(status);
}

function isWanted(task: Task, query: TaskQuery): boolean {
  const ms = query.by === "date"
    ? task.dateMs
    : query.by === "created_at"
    ? task.createdAtMs
    : task.finishedAtMs;
  const { fromMs, toMs } = query;
  if (fromMs !== undefined && !(ms !== undefined && ms >= fromMs)) return false;
  if (toMs !== undefined && !(ms !== undefined && ms <= toMs)) return false;
  const repeats = task.repeat !== undefined;
  const awaits = task.wait?.for?.kind;
  return (query.repeats ?? repeats) === repeats &&
    (query.awaits ?? awaits) === awaits &&
    (query.workerIds ?? WORKERS).includes(task.workerId) &&
    (query.statuses ?? TASK_STATUSES).includes(task.status) &&
    (query.job ?? task.job) === task.job &&
    (query.group ?? task.group) === task.group &&
    (query.tags ?? []).every((tag) => task.tags.includes(tag)) &&
    (query.metadata === undefined || task.metadata["a"] === "1") &&
    (query.isDue ?? isTakeable(task)) === isTakeable(task);
}

function compareBy(query: TaskQuery, left: Task, right: Task): number {
  const byTime = query.sort === "date"
    ? left.dateMs - right.dateMs
    : left.createdAtMs - right.createdAtMs;
  const order = byTime !== 0 ? byTime : left.id < right.id ? -1 : 1;
  return query.order === "asc" ? order : -order;
}
