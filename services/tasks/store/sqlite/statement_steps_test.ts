import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import {
  countSteps,
  type RunStatement,
} from "../../../../tests/support/statement_steps.ts";
import type { TaskQuery } from "../queries.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
} from "../testing/sample_tasks.ts";
import { databasePath } from "./database_file.ts";
import { Reader } from "./reader.ts";
import type { StoreReads } from "./sqlite_store.ts";
import { proveAll } from "./task_counts.ts";
import {
  activityWrite,
  answerWrite,
  apply,
  auditWrite,
  closeWorld,
  openWorld,
  recordWrite,
  SMALL,
  startWrite,
  TENANT,
  WORKERS,
  type World,
} from "./testing/filled_database.ts";
import { withFolder } from "./testing/open_store.ts";

/** A multiple of the small number. */
const LARGE = SMALL * Math.min(100, countRounds(30));
/** The most steps of a call that reads a page of rows, some dozens at once. */
const MAX_LOOKING_STEPS = 5_000;
/**
 * The most steps of a call that counts index entries, some thousands at once.
 */
const MAX_COUNTING_STEPS = 1.5 * LARGE;

const LIST = {
  tenantId: TENANT,
  by: "date",
  sort: "date",
  order: "asc",
  limit: 10,
} as const satisfies TaskQuery;
const FROM_MS = SAMPLE_MS + 300;
const AFTER = { sortMs: SAMPLE_MS + 200, id: sampleIds().next() };

/** A call of a store, which reads or changes something. */
type Call = (world: World) => unknown;

/** Calls that cost the same however many tasks exist. */
const CONSTANT: Readonly<Record<string, Call>> = {
  ...createListCalls({
    "list": {},
    "list backwards": { order: "desc" },
    "list from a place on": { after: AFTER },
    "list backwards from a place on": { order: "desc", after: AFTER },
    "list by creation": { sort: "created_at" },
    "list by creation, backwards": { sort: "created_at", order: "desc" },
    "list by creation from a place on": { sort: "created_at", after: AFTER },
    "list of a status": { statuses: ["retry"] },
    "list of statuses": { statuses: ["paused", "failed", "expired"] },
    "list of a worker": { workerIds: ["wrk_1"] },
    "list of workers and statuses": {
      workerIds: ["wrk_1", "wrk_2"],
      statuses: ["waiting"],
    },
    "list of a window": { fromMs: FROM_MS, toMs: FROM_MS + 9 },
    "list of a window, backwards": {
      fromMs: FROM_MS,
      toMs: FROM_MS + 9,
      order: "desc",
    },
    "list of a window from a place on": {
      fromMs: SAMPLE_MS - 1,
      toMs: SAMPLE_MS + 900,
      after: AFTER,
    },
    "list of a window from a place on, backwards": {
      fromMs: SAMPLE_MS - 1,
      toMs: SAMPLE_MS + 900,
      after: AFTER,
      order: "desc",
    },
    "list of a window of creation from a place on": {
      by: "created_at",
      sort: "created_at",
      fromMs: SAMPLE_MS - 1,
      after: { ...AFTER, sortMs: SAMPLE_MS + 700 },
    },
    "list of a window of creation": {
      by: "created_at",
      sort: "created_at",
      fromMs: FROM_MS,
    },
    "list of a key": { key: "often" },
    "list of a key, of a status": { key: "once 7", statuses: ["canceled"] },
    "list of what is due": { isDue: true },
    "list of what is due of a worker": { isDue: true, workerIds: ["wrk_2"] },
    "list of what is due again": { isDue: true, statuses: ["retry"] },
    "list of what repeats": { repeats: true },
    "list of what repeats from a place on, backwards": {
      repeats: true,
      order: "desc",
      after: AFTER,
    },
    "list of what repeats of a worker": {
      repeats: true,
      workerIds: ["wrk_1"],
    },
    "list of what repeats of a status, of none": {
      repeats: true,
      statuses: ["waiting"],
    },
    "list of what repeats of a job, of none": { repeats: true, job: "none" },
    "list of what repeats by creation": {
      repeats: true,
      sort: "created_at",
      statuses: ["paused"],
    },
    "count of what repeats": { repeats: true, count: true },
    "list of what waits": { awaits: "approval" },
    "list of what waits of a job, of none": { awaits: "approval", job: "none" },
    "list of a tag, of none": { tags: ["none"] },
    "list of a tag, of none, by creation": {
      tags: ["none"],
      sort: "created_at",
    },
    "list of a tag, of none, of what waits": {
      tags: ["none"],
      awaits: "approval",
    },
    "count of a tag, of none": { tags: ["none"], count: true },
    "list of nobody": { tenantId: "tnt_none" },
  }),
  "a task": ({ reads, some }) => reads.tasks.task(TENANT, some[3]!.id),
  "tasks": ({ reads, some }) =>
    reads.tasks.tasks(TENANT, some.map(({ id }) => id)),
  "a task by its key": ({ reads }) =>
    reads.tasks.byKey({ tenantId: TENANT, workerId: "wrk_0", key: "live 0" }),
  "dependents": ({ reads, some }) =>
    reads.tasks.dependents({
      tenantId: TENANT,
      ids: some.slice(0, 3).map(({ id }) => id),
      limit: 20,
    }),
  "dependents from a place on": ({ reads, some }) =>
    reads.tasks.dependents({
      tenantId: TENANT,
      ids: [some[0]!.id],
      limit: 10,
      afterId: some[40]!.id,
    }),
  "what is to be woken": ({ reads }) =>
    reads.tasks.waking(Number.MAX_SAFE_INTEGER, 200),
  "what is to be woken from a place on": ({ reads, some }) =>
    reads.tasks.waking(Number.MAX_SAFE_INTEGER, 200, {
      wakeAtMs: SAMPLE_MS,
      id: some[40]!.id,
    }),
  "what others have to be woken": ({ reads, some }) =>
    reads.tasks.wakingOfOthers({
      nowMs: Number.MAX_SAFE_INTEGER,
      except: new Set([TENANT]),
      after: { wakeAtMs: SAMPLE_MS, id: some[40]!.id },
      maxLooked: 200,
    }),
  "when to wake": ({ reads }) => reads.tasks.nextWakeMs(),
  "when to wake after an instant": ({ reads }) =>
    reads.tasks.nextWakeMs(SAMPLE_MS),
  "counts of a tenant": ({ reads }) =>
    reads.statuses.counts({ tenantId: TENANT }),
  "counts of a worker": ({ reads }) =>
    reads.statuses.counts({ tenantId: TENANT, workerId: "wrk_1" }),
  "a scan of what runs": ({ reads }) => scanTwice(reads, "running"),
  "a scan of what is blocked": ({ reads }) => scanTwice(reads, "blocked"),
  "candidates": ({ reads }) => reads.candidates.candidates(CLAIM),
  "candidates of jobs": ({ reads }) =>
    reads.candidates.candidates({ ...CLAIM, jobs: ["job 1", "job 2"] }),
  "workers with due tasks": ({ reads }) =>
    reads.candidates.workers({
      limit: 9,
      after: { tenantId: TENANT, workerId: "wrk_0" },
    }),
  "a history": ({ reads, long }) =>
    reads.histories.page({
      tenantId: TENANT,
      taskId: long.id,
      order: "desc",
      limit: 50,
      afterSeq: 500,
    }),
  "a record": ({ reads }) => reads.records.record("user", TENANT, "usr_5"),
  "a record by its alias": ({ reads }) =>
    reads.records.byAlias("user", TENANT, "alias 5"),
  "records": ({ reads }) =>
    reads.records.page({
      kind: "user",
      tenantId: TENANT,
      limit: 50,
      afterId: "usr_1",
    }),
  "records of a parent": ({ reads }) =>
    reads.records.page({
      kind: "user",
      tenantId: TENANT,
      parentId: "wrk_1",
      limit: 50,
    }),
  "an answer that is kept": ({ reads }) =>
    reads.records.idempotency(TENANT, "key 5", 0),
  "use": ({ reads }) => reads.records.usage(TENANT, "2026-06"),
  "counted starts": ({ reads }) =>
    reads.records.starts({
      tenantId: TENANT,
      workerId: WORKERS[0]!,
      afterNumber: 400,
      limit: 50,
    }),
  "counted starts of a group": ({ reads }) =>
    reads.records.starts({
      tenantId: TENANT,
      workerId: WORKERS[0]!,
      group: "group 7",
      afterNumber: 0,
      end: "last",
      limit: 2,
    }),
  "activity": ({ reads }) =>
    reads.kept.activity({
      tenantId: TENANT,
      series: { workerId: WORKERS[0]!, job: "one" },
      stepMs: 60_000,
      fromMs: SAMPLE_MS,
      toMs: SAMPLE_MS + 60 * 60_000,
    }),
  "the longest queues of workers": ({ reads }) =>
    reads.kept.topCounts({
      tenantId: TENANT,
      by: "worker",
      statuses: ["waiting", "running", "failed"],
      limit: 20,
    }),
  "the longest queues of jobs": ({ reads }) =>
    reads.kept.topCounts({
      tenantId: TENANT,
      by: "job",
      statuses: ["waiting", "running", "failed"],
      limit: 5,
    }),
  "late tasks": ({ reads }) =>
    reads.kept.lateTasks({
      tenantId: TENANT,
      workerIds: WORKERS,
      beforeMs: SAMPLE_MS + 1e9,
      limit: 20,
      maxRead: 5,
    }),
  "failing tasks": ({ reads }) =>
    reads.kept.failingTasks({ tenantId: TENANT, limit: 20 }),
  "the audit log": ({ reads }) =>
    reads.records.audit({ tenantId: TENANT, limit: 50, before: 150 }),
  "events after one": ({ reads }) =>
    reads.events.page({ tenantId: TENANT, limit: 50, after: "x" }),
  "who listens": ({ reads }) => reads.events.listeners(100),
  "where events end": ({ reads }) =>
    reads.events.page({ tenantId: TENANT, limit: 50 }),
  "whether the audit log has old entries": ({ reads }) =>
    reads.records.tenantToTrim({ tenantId: TENANT, beforeMs: 0 }),
  "interned": ({ reads }) => [
    reads.interned.tenant("tnt_none"),
    reads.interned.queueId(TENANT, "wrk_none"),
  ],
  "sweeping": ({ sweeper }) => sweeper.sweep(SAMPLE_MS + 1, 50),
  "a new task": (world) => {
    apply(world, [{
      writes: [
        creation(sampleTask({ id: sampleIds(99).next(), workerId: "wrk_0" })),
      ],
    }]);
  },
  "a change": (world) => {
    const task = world.some.find(({ status }) => status === "waiting")!;
    apply(world, [{ writes: [change(changed(task, { status: "failed" }))] }]);
  },
  "a removal": (world) => {
    const task = world.some.find(({ status }) => status === "scheduled")!;
    apply(world, [{ writes: [removal(task)] }]);
  },
  "records that are written": (world) => {
    apply(world, [{ writes: [recordWrite(-1)] }, {
      writes: [
        answerWrite(-1),
        auditWrite(-1),
        {
          kind: "usage",
          tenantId: TENANT,
          period: "2026-06",
          executions: 1,
        },
        startWrite(-1),
        activityWrite(-1),
      ],
    }]);
  },
};

/** Calls that read rows one by one, a limited number at once. */
const LOOKING: Readonly<Record<string, Call>> = {
  ...createListCalls({
    "list of a tag": { tags: ["rare"] },
    "list of a tag of a job, of none": { tags: ["rare"], job: "none" },
    "list of a tag by creation, backwards": {
      tags: ["rare"],
      sort: "created_at",
      order: "desc",
    },
    "list of metadata": { metadata: { a: "7" } },
    "list of a group": { group: "none" },
    "list of a job": { job: "none" },
    "list of an error": { errorCode: "timed_out" },
    "list of what is not due": { isDue: false, statuses: ["waiting"] },
    "list of a window of another time": {
      by: "finished_at",
      fromMs: SAMPLE_MS + 1e9,
    },
    "list of a status by creation": {
      sort: "created_at",
      statuses: ["retry"],
    },
    "count of a tag": { count: true, tags: ["rare"] },
  }),
  "a history of a type": ({ reads, long }) =>
    reads.histories.page({
      tenantId: TENANT,
      taskId: long.id,
      order: "asc",
      limit: 50,
      types: ["repaired"],
    }),
};

/** Calls that count index entries, a limited number at once. */
const COUNTING: Readonly<Record<string, Call>> = {
  ...createListCalls({
    "count": { count: true },
    "list of a tag, of none, with others": {
      tags: ["common", "none"],
      statuses: ["waiting"],
      group: "none",
    },
    "list of a tag that is frequent": { tags: ["common"] },
    "list of a tag that is frequent, from a place on": {
      tags: ["common"],
      after: AFTER,
    },
    "list of a tag that is frequent, of a job, of none": {
      tags: ["common"],
      job: "none",
    },
    "list of a tag that is frequent, of a status": {
      tags: ["common"],
      statuses: ["retry"],
    },
    "list of a tag that is frequent, by creation": {
      tags: ["common"],
      sort: "created_at",
    },
    "count of a window": { count: true, fromMs: SAMPLE_MS },
  }),
  // The number is limited by how many tasks of the worker may run at once.
  "what runs of a worker": ({ reads }) => reads.tasks.running(TENANT, "wrk_0"),
  "what runs of all groups": ({ reads }) => reads.tasks.runningGroups(TENANT),
  "queues of all tenants": ({ reads }) => reads.statuses.queues(),
  "the proof of the counts": ({ read }) => proveAll(new Reader(read)),
};

const ALL = { ...CONSTANT, ...LOOKING, ...COUNTING };

const CLAIM = { tenantId: TENANT, workerId: "wrk_0", limit: 50 } as const;

serviceTest(["sqlite3"], {
  name: "no statement of the store takes more steps the more tasks there are",
  // Filling the database takes long while other programs run.
  timeout: 300_000,
  fn: async () => {
    const [small, large] = [await measure(SMALL), await measure(LARGE)];
    const faults: string[] = [];
    for (const call of Object.keys(CONSTANT)) {
      const [few, many] = [small.get(call)!, large.get(call)!];
      if (sum(many) > 2 * sum(few) + 500) {
        faults.push(`${call}: ${sum(few)} steps, ${sum(many)} with ${LARGE}`);
      }
    }
    const demandAtMost = (calls: object, steps: number): void => {
      for (const call of Object.keys(calls)) {
        const most = Math.max(...large.get(call)!);
        if (most > steps) faults.push(`${call}: ${most} steps at once`);
      }
    };
    demandAtMost(LOOKING, MAX_LOOKING_STEPS);
    demandAtMost(COUNTING, MAX_COUNTING_STEPS);
    assertEquals(faults, []);
  },
});

Deno.test("statements of every read of the store are measured", async () => {
  await withFolder((folder) => {
    const world = openWorld(folder, 1_000);
    const { reads } = world;
    const called = new Set<string>();
    for (const [name, part] of Object.entries(reads)) {
      for (const method of listMethods(part)) {
        const run: unknown = Reflect.get(part, method);
        if (typeof run !== "function") continue;
        Object.defineProperty(part, method, {
          value: (...args: unknown[]) => {
            called.add(`${name}.${method}`);
            return run.apply(part, args);
          },
        });
      }
    }
    for (const call of Object.values(ALL)) {
      finish(call(world));
    }
    const missing = Object.entries(reads).flatMap(([name, part]) =>
      listMethods(part).map((method) => `${name}.${method}`)
    ).filter((method) => !called.has(method) && !NO_STATEMENT.has(method));
    assertEquals(missing, []);
    closeWorld(world);
    return Promise.resolve();
  });
});

/** Methods that only change or read memory. */
const NO_STATEMENT = new Set([
  "payloads.get",
  "payloads.set",
  "payloads.delete",
  "interned.internTenant",
  "interned.internQueue",
]);

function listMethods(part: object): readonly string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(part))
    .filter((name) =>
      name !== "constructor" && typeof Reflect.get(part, name) === "function"
    );
}

/** Measures the steps of each statement of each call. */
async function measure(
  size: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const runs: (readonly [string, readonly RunStatement[]])[] = [];
  const steps = new Map<string, readonly number[]>();
  await withFolder(async (folder) => {
    const world = openWorld(folder, size);
    const path = databasePath(folder);
    const before = `${path}.before`;
    // The changes of each call have to be undone before the next.
    await Deno.copyFile(path, before);
    for (const [name, call] of Object.entries(ALL)) {
      world.read.take();
      world.written.take();
      finish(call(world));
      runs.push([name, [...world.read.take(), ...world.written.take()]]);
    }
    closeWorld(world);
    const counted = await countSteps(before, runs.flatMap(([, run]) => run));
    let from = 0;
    for (const [name, statements] of runs) {
      steps.set(name, counted.slice(from, from += statements.length));
      assert(statements.length > 0, name);
    }
  });
  return steps;
}

function createListCalls(
  queries: Readonly<Record<string, Partial<TaskQuery>>>,
): Readonly<Record<string, Call>> {
  return Object.fromEntries(
    Object.entries(queries).map(([name, query]): [string, Call] => [
      name,
      ({ reads }) => reads.lists.page({ ...LIST, ...query }),
    ]),
  );
}

function scanTwice(
  reads: StoreReads,
  status: "running" | "blocked",
): void {
  const { next } = reads.statuses.scan({ status, limit: 30 });
  reads.statuses.scan({
    status,
    limit: 30,
    ...(next === undefined ? {} : { after: next }),
  });
}

/** Runs a read that is done in pieces to its end. */
function finish(answer: unknown): void {
  if (typeof answer !== "object" || answer === null) return;
  if (!("next" in answer) || typeof answer.next !== "function") return;
  while (answer.next().done !== true);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
