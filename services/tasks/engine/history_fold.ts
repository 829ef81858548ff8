/**
 * Whether the oldest records of a task's history are to go with its next change.
 *
 * @module
 */

import { type FoldDraft, foldDraft, foldThrough } from "../domain/history.ts";
import { MIN_HISTORY_PER_TASK } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { EngineParts } from "./parts.ts";

/** What a change is made in. */
export interface FoldForOptions {
  /** About how many records it adds; at least one. */
  readonly added: number;
  /** The engine's parts. */
  readonly parts: Pick<EngineParts, "store" | "limitsOf" | "clock">;
}

/** Whether a history may be long enough to ask {@linkcode foldFor}; most are not. */
export function mayFold(task: Task, added: number): boolean {
  return task.historyCount + added > MIN_HISTORY_PER_TASK;
}

/**
 * The record that makes room in the history of a task that is about to change,
 * when the tenant's plan asks for it. Nothing is looked up for a short history.
 *
 * @throws {Error} when the store fails
 */
export async function foldFor(
  task: Task,
  { added, parts: { store, limitsOf, clock } }: FoldForOptions,
): Promise<FoldDraft | undefined> {
  if (!mayFold(task, added)) return undefined;
  const { tenantId, id: taskId } = task;
  const { historyPerTask: limit } = await limitsOf(tenantId);
  const through = foldThrough(task, { added, limit });
  if (through === undefined) return undefined;
  const { records: [last] } = await store.history({
    tenantId,
    taskId,
    order: "desc",
    afterSeq: through + 1,
    limit: 1,
  });
  // Gone when the task has been changed meanwhile; the write will find out.
  if (last?.seq !== through) return undefined;
  return foldDraft(task, {
    folded: { count: through, hash: last.hash },
    nowMs: clock.nowMs(),
  });
}
