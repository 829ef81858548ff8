/**
 * Tasks with histories, for tests of what is stored.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import type { Store } from "../store.ts";
import {
  change,
  changed,
  creation,
  toTransactions,
  withHistory,
} from "./sample_tasks.ts";

/** Adds a task with a number of records. */
export async function add(
  store: Store,
  task: Task,
  records: number,
): Promise<Task> {
  const made = withHistory(task, Array.from({ length: records }, () => ({})));
  const write = { ...creation(made.task), history: made.history };
  await store.commit(toTransactions(write));
  return made.task;
}

/** Folds the first records of a task. */
export async function fold(
  store: Store,
  task: Task,
  through: number,
): Promise<Task> {
  const { records: [last] } = await store.history({
    tenantId: task.tenantId,
    taskId: task.id,
    order: "asc",
    limit: 1,
    afterSeq: through - 1,
  });
  const historyFolded = { count: through, hash: last?.hash ?? "" };
  const next = withHistory(changed(task, { historyFolded }), [
    { type: "folded", folded: historyFolded },
    {},
  ]);
  await store.commit(toTransactions({
    ...change(next.task),
    history: next.history,
    foldThrough: through,
  }));
  return next.task;
}
