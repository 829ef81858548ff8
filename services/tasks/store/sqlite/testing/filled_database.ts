/**
 * A database with many rows of every kind, and the store's statements on it
 * recorded, for tests of what they cost.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { RecordingDatabase } from "../../../../../tests/support/statement_steps.ts";
import { isFinal, type Task, TASK_STATUSES } from "../../../domain/task.ts";
import { NO_ACTIVITY } from "../../kept_counts.ts";
import type { Transaction } from "../../store.ts";
import {
  creation,
  HOURLY,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
} from "../../testing/sample_tasks.ts";
import { databasePath, openWriting } from "../database_file.ts";
import { encodeBatch } from "../encode_batch.ts";
import { GroupApplier } from "../group_applier.ts";
import { migrateTasks } from "../migrations.ts";
import { StoreReads } from "../sqlite_store.ts";
import { Sweeper } from "../table_writers.ts";

/** The tasks of the smallest database. */
export const SMALL = 1_000;
/** The tenant of all rows. */
export const TENANT = "tnt_a";
/** The tenant's workers. */
export const WORKERS: readonly string[] = ["wrk_0", "wrk_1", "wrk_2"];

/** A filled database, and what works with it. */
export interface World {
  /** Records what is read. */
  readonly read: RecordingDatabase;
  /** Records what is written. */
  readonly written: RecordingDatabase;
  /** The reads of the store. */
  readonly reads: StoreReads;
  /** Removes what has expired. */
  readonly sweeper: Sweeper;
  /** Commits. */
  readonly applier: GroupApplier;
  /** Tasks that exist at any size of the database. */
  readonly some: readonly Task[];
  /** A task with a long history. */
  readonly long: Task;
}

/** Makes and opens a database with `size` tasks. */
export function openWorld(folder: string, size: number): World {
  const path = databasePath(folder);
  const filled = fill(path, size);
  const read = new RecordingDatabase(path, { readOnly: true });
  const written = new RecordingDatabase(path);
  return {
    ...filled,
    read,
    written,
    // With a clock that stands still, reads take no more pieces on a busy
    // machine.
    reads: new StoreReads(read, () => 0),
    sweeper: new Sweeper(written),
    applier: new GroupApplier(written),
  };
}

/** Closes the database. */
export function closeWorld({ reads, written }: World): void {
  reads.close();
  written.close();
}

/** Fills a database in proportion to the number of tasks. */
function fill(
  path: string,
  size: number,
): Pick<World, "some" | "long"> {
  const db = openWriting(path, "relaxed");
  migrateTasks(db, { nowMs: 0 });
  const reads = new StoreReads(db);
  const ids = sampleIds();
  const tasks: Task[] = [];
  for (let index = 0; index < SMALL; index++) {
    const first = tasks[index % 3]?.id;
    tasks.push(createTask(index, ids.next(), first));
  }
  const history = Array.from({ length: SMALL }, (_, index) => ({
    seq: index + 1,
    text: '{"type":"created"}',
    prev: "",
    hash: "hash",
  }));
  const transactions = tasks.map((task, index): Transaction => ({
    writes: [
      { ...creation(task), history: index === 0 ? history : [] },
      recordWrite(index),
      answerWrite(index),
      auditWrite(index),
      startWrite(index),
      activityWrite(index),
    ],
  }));
  apply({ reads, applier: new GroupApplier(db) }, transactions);
  for (const copy of COPIES) {
    db.prepare(
      "WITH RECURSIVE copies(k) AS (VALUES(0) UNION ALL " +
        `SELECT k + 1 FROM copies WHERE k + 1 < ?) ${copy}`,
    ).run(size / SMALL);
  }
  reads.close();
  return { some: tasks.slice(0, 100), long: tasks[0]! };
}

/** Creates copy `k` of all rows; the first rows exist already. */
const COPIES: readonly string[] = [
  `INSERT INTO tasks SELECT n + 100000 * k, id, tenant, created_ms + ${SMALL} * k,
   version, status, lane, grp, job,
   CASE key WHEN 'often' THEN key ELSE key || ' of copy ' || k END,
   date_ms + ${SMALL} * k, finished_ms, rank + ${SMALL} * k, wake_ms, body, data,
   data_at, result, result_at, failing_ms, NULL, NULL, tags FROM copies, tasks WHERE k > 0`,
  `INSERT INTO task_tags SELECT tenant, tag, date_ms + ${SMALL} * k,
   n + 100000 * k, created_ms + ${SMALL} * k FROM copies, task_tags WHERE k > 0`,
  `INSERT INTO job_counts SELECT tenant, lane, status, job || ' ' || k, count
   FROM copies, job_counts WHERE k > 0`,
  `INSERT INTO activity SELECT tenant, worker, job || '-' || k, step_ms, at_ms,
   expires_ms, created, started, succeeded, failed, lost, completed, missed,
   lag_sum_ms, lag_max_ms, run_sum_ms FROM copies, activity WHERE k > 0`,
  `INSERT INTO dependents SELECT tenant, dependency, n + 100000 * k
   FROM copies, dependents WHERE k > 0`,
  `INSERT INTO history SELECT n, seq + ${SMALL} * k, text, hash
   FROM copies, history WHERE k > 0`,
  `INSERT INTO records SELECT tenant, kind, id || '-' || k, version, alias || '-' || k, parent,
   text FROM copies, records WHERE k > 0`,
  `INSERT INTO idempotency SELECT tenant, key || '-' || k, expires_ms, body_hash, status,
   headers, body FROM copies, idempotency WHERE k > 0`,
  `INSERT INTO audit SELECT tenant, number + ${SMALL} * k, at_ms, action, text
   FROM copies, audit WHERE k > 0`,
  `INSERT INTO starts(tenant, worker, task_group, at_ms, expires_ms, count)
   SELECT tenant, worker, task_group, at_ms + k, expires_ms, count
   FROM copies, starts WHERE k > 0`,
];

function createTask(
  index: number,
  id: string,
  first: string | undefined,
): Task {
  const status = TASK_STATUSES[index % TASK_STATUSES.length]!;
  const takeable = status === "waiting" ||
    (status === "retry" || status === "done") && index % 5 === 0;
  return sampleTask({
    id,
    tenantId: TENANT,
    workerId: WORKERS[index % 7 % 3]!,
    status,
    isDue: takeable,
    dateMs: SAMPLE_MS + index,
    createdAtMs: SAMPLE_MS + index,
    group: `group ${index % 4}`,
    job: `job ${index % 3}`,
    tags: index % 1_000 === 500 ? ["rare"] : ["common"],
    metadata: { a: `${index % 10}` },
    expiresAtMs: SAMPLE_MS + 1e9,
    ...(isFinal(status)
      ? {
        key: index % 2 === 0 ? "often" : `once ${index}`,
        finishedAtMs: SAMPLE_MS + index,
        purgeAtMs: SAMPLE_MS + index,
        ...status === "failed"
          ? { lastOutcome: "failed", repeat: HOURLY } as const
          : {},
      }
      : { key: `live ${index}` }),
    ...(status === "scheduled" && index % 2 === 0
      ? {
        wait: {
          for: {
            kind: "approval",
            by: "admin",
            byAnother: false,
            sinceMs: SAMPLE_MS,
            onTimeout: "resume",
          },
        },
      }
      : {}),
    ...(status === "blocked" && first !== undefined
      ? { dependencies: [first] }
      : {}),
  });
}

/** Writes a user. */
export function recordWrite(index: number): Transaction["writes"][number] {
  const id = `usr_${index}`;
  return {
    kind: "record",
    recordKind: "user",
    tenantId: TENANT,
    id,
    expectedVersion: 0,
    next: {
      kind: "user",
      tenantId: TENANT,
      id,
      version: 1,
      alias: `alias ${index}`,
      parentId: WORKERS[index % 3]!,
      text: "{}",
    },
  };
}

/** Keeps the answer to a request. */
export function answerWrite(index: number): Transaction["writes"][number] {
  return {
    kind: "idempotency",
    tenantId: TENANT,
    key: `key ${index}`,
    entry: {
      bodyHash: "",
      status: 201,
      headers: {},
      body: "",
      expiresAtMs: SAMPLE_MS + index % 2,
    },
  };
}

/** Notes a start. */
export function startWrite(index: number): Transaction["writes"][number] {
  return {
    kind: "start",
    tenantId: TENANT,
    workerId: WORKERS[0]!,
    group: `group ${index}`,
    atMs: SAMPLE_MS,
    expiresAtMs: SAMPLE_MS,
  };
}

/** Counts a task that was created. */
export function activityWrite(index: number): Transaction["writes"][number] {
  return {
    kind: "activity",
    tenantId: TENANT,
    series: { workerId: WORKERS[0]!, job: "one" },
    stepMs: 60_000,
    atMs: SAMPLE_MS + index * 60_000,
    expiresAtMs: SAMPLE_MS,
    counts: { ...NO_ACTIVITY, created: 1 },
  };
}

/** Notes what somebody did. */
export function auditWrite(index: number): Transaction["writes"][number] {
  return {
    kind: "audit",
    tenantId: TENANT,
    entry: { atMs: SAMPLE_MS + index, action: "made", text: "{}" },
  };
}

/** Commits transactions; fails when one is refused. */
export function apply(
  { reads: { interned, payloads }, applier }: Pick<World, "reads" | "applier">,
  transactions: readonly Transaction[],
): void {
  const { operations } = encodeBatch(transactions, {
    interned,
    payloads,
    nowMs: 0,
  });
  assertEquals(applier.apply([operations]).filter((code) => code !== 0), []);
}
