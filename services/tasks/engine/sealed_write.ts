/**
 * The write that puts a changed task and its history in one.
 *
 * @module
 */

import { chain, type Digest, type HistoryDraft } from "../domain/history.ts";
import type { FoldDraft } from "../domain/history_fold.ts";
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
  /**
   * The record that makes room in a long history; it comes before the others.
   * @default nothing is dropped
   */
  readonly fold?: FoldDraft | undefined;
  /**
   * Makes the hashes.
   * @default {sha256}
   */
  readonly digest?: Digest;
}

/** Chains the new records to the history of `next` and makes the write. */
export function sealWrite(
  next: Task,
  { drafts, expectedVersion, fold, digest = sha256 }: SealOptions,
): SealedWrite {
  const history = chain(
    fold === undefined ? drafts : [fold, ...drafts],
    { count: next.historyCount, hash: next.historyHash },
    digest,
  );
  const last = history.at(-1);
  const task = last === undefined ? next : {
    ...next,
    historyCount: last.seq,
    historyHash: last.hash,
    ...(fold === undefined ? {} : { historyFolded: fold.folded }),
  };
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
      ...(fold === undefined ? {} : { foldThrough: fold.folded.count }),
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
