/**
 * Fills a data folder with tasks through the store, much faster than requests
 * could.
 *
 * @module
 */

import { systemClock } from "../../../services/shared/clock.ts";
import type { Logger } from "../../../services/shared/logger.ts";
import type { Task } from "../../../services/tasks/domain/task.ts";
import { SqliteStore } from "../../../services/tasks/store/sqlite/sqlite_store.ts";
import type { Transaction } from "../../../services/tasks/store/store.ts";
import { TaskIds } from "../../../services/tasks/store/task_id.ts";
import {
  creation,
  sampleTask,
  withHistory,
} from "../../../services/tasks/store/testing/sample_tasks.ts";
import { tell } from "../../terminal.ts";
import { type BenchTenant, taskBody } from "./bench_tenant.ts";

/** The tasks to write, and where. */
export interface FillOptions {
  /** The data folder; no other process may use it meanwhile. */
  readonly dataDir: string;
  /** The tenant that the tasks belong to. */
  readonly tenant: BenchTenant;
  /** Number of tasks. */
  readonly tasks: number;
  /** Returns the fields of a task other than its id, tenant and data. */
  readonly stateOf: (index: number, nowMs: number) => Partial<Task>;
}

const UNITS = 2_000;
const DAY_MS = 86_400_000;
const TELL_EVERY = 500_000;

const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => tell(`${message} ${JSON.stringify(fields)}`),
  error: (message, fields) => tell(`${message} ${JSON.stringify(fields)}`),
};

/** Adds tasks, each with a history. */
export async function fillStore(options: FillOptions): Promise<void> {
  const { dataDir, tasks } = options;
  const store = new SqliteStore({
    dataFolder: dataDir,
    clock: systemClock,
    logger,
    // Tasks that a crash of the machine loses are simply written again.
    durability: "relaxed",
  });
  const makeTransaction = transactionMaker(options);
  await store.start();
  try {
    for (let made = 0; made < tasks; made += UNITS) {
      const length = Math.min(UNITS, tasks - made);
      const transactions = Array.from(
        { length },
        (_, index) => makeTransaction(made + index),
      );
      const results = await store.commit(transactions);
      if (results.some(({ kind }) => kind !== "ok")) {
        throw new Error("Cannot fill the store: a task was refused");
      }
      if (made > 0 && made % TELL_EVERY === 0) {
        tell(`  ${made.toLocaleString("en-US")} tasks stored`);
      }
    }
  } finally {
    await store.stop();
  }
}

function transactionMaker(
  options: FillOptions,
): (index: number) => Transaction {
  const { tenant, stateOf } = options;
  const ids = new TaskIds(
    systemClock,
    (length) => crypto.getRandomValues(new Uint8Array(length)),
  );
  return (index) => {
    const nowMs = Date.now();
    const { task, history } = withHistory(
      sampleTask({
        id: ids.next(),
        tenantId: tenant.tenantId,
        workerId: tenant.workerId,
        dataJson: JSON.stringify(taskBody(index).data),
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
        ...stateOf(index, nowMs),
      }),
      [{ type: "created", atMs: nowMs }],
    );
    return { writes: [{ ...creation(task), history }] };
  };
}

/**
 * Returns states for `tasks` tasks, of which `waiting` are due at once; the
 * others have ended or have a date far in the future.
 */
export function queueStates(
  { tasks, waiting }: { readonly tasks: number; readonly waiting: number },
): FillOptions["stateOf"] {
  const every = Math.max(1, Math.floor(tasks / Math.max(1, waiting)));
  return (index, nowMs) =>
    index % every === 0 && waiting > 0
      ? waitingState(nowMs)
      : index % 2 === 0
      ? endedState(nowMs)
      : aheadState(nowMs, index);
}

function waitingState(nowMs: number): Partial<Task> {
  return { dateMs: nowMs, firstDateMs: nowMs, slotMs: nowMs };
}

/** The state of a task that succeeded. */
export function endedState(nowMs: number): Partial<Task> {
  return {
    ...waitingState(nowMs),
    status: "complete",
    executions: 1,
    fence: 1,
    lastOutcome: "succeeded",
    resultJson: '{"ok":true}',
    startedAtMs: nowMs,
    finishedAtMs: nowMs,
    purgeAtMs: nowMs + 30 * DAY_MS,
  };
}

function aheadState(nowMs: number, index: number): Partial<Task> {
  const dateMs = nowMs + DAY_MS + index * 10;
  return {
    status: "scheduled",
    dateMs,
    firstDateMs: dateMs,
    slotMs: dateMs,
    isDue: false,
  };
}
