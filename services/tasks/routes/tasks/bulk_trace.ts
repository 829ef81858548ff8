/**
 * What a step of a bulk action that was broken off has done already: its tasks
 * and their histories tell.
 *
 * @module
 */

import type { HistoryDraft, HistoryType } from "../../domain/history.ts";
import type { Task } from "../../domain/task.ts";
import type { Engine } from "../../engine/engine.ts";
import type { BulkAction, BulkOrder, BulkResult } from "./bulk_action.ts";

/** A task of a step as it was before that began. */
export interface StepTarget {
  /** Its id. */
  readonly id: string;
  /** The number of the last record of its history; absent when it was not there. */
  readonly seq?: number;
}

/** A task of a step, or the id of one that is not there. */
export interface Found {
  /** Its id. */
  readonly id: string;
  /** The task as it was found. */
  readonly task: Task | undefined;
}

/** What a task was before the step that it was found for. */
export function targetOf({ id, task }: Found): StepTarget {
  return task === undefined ? { id } : { id, seq: task.historyCount };
}

/** Most records that are looked through. */
const MAX_RECORDS = 20;

/** What an action leaves in a history. */
const TRACES: Readonly<Record<Exclude<BulkAction, "delete">, HistoryType>> = {
  cancel: "canceled",
  retry: "requeued",
  pause: "paused",
  resume: "resumed",
};

/** Options of {@linkcode goOn}. */
export interface GoOnOptions<Result> {
  /** What the step is for. */
  readonly targets: readonly StepTarget[];
  /** Does what is left to do and answers for each in their order. */
  readonly work: (found: readonly Found[]) => Promise<readonly Result[]>;
}

/**
 * Goes on with a step that was broken off somewhere: what was done counts as
 * changed and is not done again.
 *
 * @throws {Error} when the store fails, and what `work` throws
 */
export async function goOn<Result>(
  engine: Engine,
  order: BulkOrder,
  { targets, work }: GoOnOptions<Result>,
): Promise<readonly (Result | BulkResult)[]> {
  const found = await readAgain(engine, order, targets);
  const isDone = await Promise.all(
    found.map(({ task }, index) =>
      wasDone(engine, order, { task, seq: targets[index]?.seq })
    ),
  );
  const left = found.filter((_, index) => isDone[index] !== true);
  const results = left.length === 0 ? [] : await work(left);
  const byId = new Map(left.map(({ id }, index) => [id, results[index]]));
  return found.map(({ id }) => byId.get(id) ?? { kind: "changed" });
}

/**
 * The tasks of a step as they are now.
 *
 * @throws {Error} when the store fails
 */
export async function readAgain(
  { parts: { store } }: Engine,
  { tenantId }: BulkOrder,
  targets: readonly StepTarget[],
): Promise<readonly Found[]> {
  const known = targets.filter(({ seq }) => seq !== undefined);
  const tasks = await store.tasks(tenantId, known.map(({ id }) => id));
  const byId = new Map(known.map(({ id }, index) => [id, tasks[index]]));
  return targets.map(({ id }) => ({ id, task: byId.get(id) }));
}

async function wasDone(
  { parts: { store } }: Engine,
  { action, tenantId, actor }: BulkOrder,
  { task, seq }: {
    readonly task: Task | undefined;
    readonly seq: number | undefined;
  },
): Promise<boolean> {
  if (seq === undefined) return false;
  // Also a cancel removes a task that is not kept after its end.
  if (task === undefined) return action === "delete" || action === "cancel";
  if (action === "delete" || task.historyCount === seq) return false;
  const { records } = await store.history({
    tenantId,
    taskId: task.id,
    types: [TRACES[action]],
    order: "asc",
    limit: MAX_RECORDS,
    afterSeq: seq,
  });
  return records.some(({ text }) => {
    const { actor: who } = JSON.parse(text) as HistoryDraft;
    return who.type === actor.type && who.id === actor.id;
  });
}
