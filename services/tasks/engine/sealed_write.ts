/**
 * The write that puts a changed task and its history in one.
 *
 * @module
 */

import { chain, type HistoryDraft } from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import type { Write } from "../store/store.ts";
import { sha256 } from "./digest.ts";

/** A write and the task as it will be after it. */
export interface SealedWrite {
  /** The task with the end of its history. */
  readonly task: Task;
  /** What the store is to do. */
  readonly write: Write;
}

/** What is written. */
export interface SealOptions {
  /** The records to add. */
  readonly drafts: readonly HistoryDraft[];
  /** The version that must be there; 0 for a new task. */
  readonly expectedVersion: number;
}

/** Chains the new records to the history of `next` and makes the write. */
export function sealWrite(
  next: Task,
  { drafts, expectedVersion }: SealOptions,
): SealedWrite {
  const history = chain(
    drafts,
    { count: next.historyCount, hash: next.historyHash },
    sha256,
  );
  const last = history.at(-1);
  const task = last === undefined
    ? next
    : { ...next, historyCount: last.seq, historyHash: last.hash };
  const { tenantId, id } = task;
  return {
    task,
    write: {
      kind: "task",
      tenantId,
      id,
      expectedVersion,
      next: task,
      history,
    },
  };
}

/** The write that removes a task with its history. */
export function removalOf(task: Task): Write {
  const { tenantId, id, version } = task;
  return {
    kind: "task",
    tenantId,
    id,
    expectedVersion: version,
    next: undefined,
    history: [],
  };
}
