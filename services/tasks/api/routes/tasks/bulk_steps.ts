/**
 * Does an action to many tasks, some at a time.
 *
 * @module
 */

import { isFinal } from "../../../domain/task_status.ts";
import type { Task } from "../../../domain/task.ts";
import { transition } from "../../../domain/transition.ts";
import type { EventOutcome } from "../../../engine/changes.ts";
import type { Engine } from "../../../engine/engine.ts";
import { taskNumber } from "../../../store/task_id.ts";
import { type BulkOrder, type BulkResult, eventOf } from "./bulk_action.ts";
import type { BulkPosition } from "./bulk_position.ts";
import { removeTask } from "./task_removal.ts";

/** Tasks of one step. */
export const STEP = 200;

/** How often a removal is begun anew when its task changes meanwhile. */
const MAX_TRIES = 20;

/** What a step came to. */
export interface BulkStep {
  /** What became of each task. */
  readonly results: readonly BulkResult[];
  /** Where the next step begins; absent when this was the last. */
  readonly next?: BulkPosition;
}

/** Options of {@linkcode bulkStep}. */
export interface BulkStepOptions {
  /** Where it begins. */
  readonly from: BulkPosition;
  /** Tasks that were looked at before. */
  readonly matched: number;
}

/**
 * Does one step. Doing it again does no harm: what is done is found to be so.
 *
 * @throws {Error} when the store fails
 */
export async function bulkStep(
  engine: Engine,
  order: BulkOrder,
  options: BulkStepOptions,
): Promise<BulkStep> {
  const { from, matched } = options;
  const size = Math.min(STEP, order.limit - matched);
  if (size <= 0) return { results: [] };
  const { found, next } = await read(engine, order, { from, size });
  const results = order.isDryRun
    ? await wouldBe(engine, order, found)
    : await done(engine, order, found);
  const isLast = next === undefined || matched + found.length >= order.limit;
  return isLast ? { results } : { results, next };
}

/** A task, or the id of one that is not there. */
interface Found {
  readonly id: string;
  readonly task: Task | undefined;
}

async function read(
  { parts: { store } }: Engine,
  { tenantId, ids = [], filter, orderedAtMs }: BulkOrder,
  { from, size }: { readonly from: BulkPosition; readonly size: number },
): Promise<
  { readonly found: readonly Found[]; readonly next?: BulkPosition }
> {
  if (from.kind === "ids") {
    const wanted = ids.slice(from.index, from.index + size);
    const known = wanted.filter((id) => taskNumber(id) !== undefined);
    const tasks = await store.tasks(tenantId, known);
    const byId = new Map(
      tasks.flatMap((task) => task ? [[task.id, task]] : []),
    );
    const index = from.index + wanted.length;
    return {
      found: wanted.map((id) => ({ id, task: byId.get(id) })),
      ...(index < ids.length ? { next: { kind: "ids", index } } : {}),
    };
  }
  // The time a task was made never changes, so no task is met twice.
  const page = await store.listTasks({
    by: "date",
    ...filter,
    tenantId,
    sort: "created_at",
    order: "asc",
    limit: size,
    ...(from.after === undefined ? {} : { after: from.after }),
  });
  const meant = page.tasks.filter((task) => task.createdAtMs <= orderedAtMs);
  const isEnd = meant.length < page.tasks.length;
  return {
    found: meant.map((task) => ({ id: task.id, task })),
    ...(page.next === undefined || isEnd
      ? {}
      : { next: { kind: "filter", after: page.next } }),
  };
}

async function done(
  engine: Engine,
  order: BulkOrder,
  found: readonly Found[],
): Promise<readonly BulkResult[]> {
  const { action, tenantId, actor } = order;
  if (action === "delete") {
    // Together, so that one commit can take what several of them write.
    return await Promise.all(found.map((one) => remove(engine, order, one)));
  }
  const present = found.flatMap(({ task }) => task === undefined ? [] : [task]);
  const outcomes = await engine.changes.applyAll(
    present.map((known) => ({
      tenantId,
      id: known.id,
      event: eventOf(action),
      actor,
      known,
    })),
  );
  const byId = new Map(present.map(({ id }, index) => [id, outcomes[index]]));
  return found.map(({ id }) =>
    resultOf(byId.get(id) ?? { kind: "missing" }, id)
  );
}

async function remove(
  engine: Engine,
  { tenantId, actor }: BulkOrder,
  { id, task: known }: Found,
): Promise<BulkResult> {
  const { store, clock } = engine.parts;
  let task = known;
  for (let tries = 0; tries < MAX_TRIES && task !== undefined; tries++) {
    const nowMs = clock.nowMs();
    if (await removeTask(engine, { task, actor, nowMs })) {
      return { kind: "changed" };
    }
    task = await store.task(tenantId, id);
  }
  return known === undefined ? missing(id) : { kind: "unchanged" };
}

/** Asks the status machine without writing what it says. */
async function wouldBe(
  { parts, changes }: Engine,
  { action, actor }: BulkOrder,
  found: readonly Found[],
): Promise<readonly BulkResult[]> {
  const results: BulkResult[] = [];
  for (const { id, task } of found) {
    if (task === undefined) {
      results.push(missing(id));
      continue;
    }
    const event = action === "delete" && isFinal(task.status)
      ? undefined
      : eventOf(action === "delete" ? "cancel" : action);
    const result = event && transition(task, event, {
      nowMs: parts.clock.nowMs(),
      actor,
      rules: await changes.rules(task),
      random: parts.random,
    });
    results.push(
      result?.kind === "refused"
        ? { kind: "failed", id, code: result.code, detail: result.reason }
        : { kind: result?.kind === "unchanged" ? "unchanged" : "changed" },
    );
  }
  return results;
}

function resultOf(outcome: EventOutcome, id: string): BulkResult {
  switch (outcome.kind) {
    case "changed":
    case "purged":
      return { kind: "changed" };
    case "unchanged":
      return { kind: "unchanged" };
    case "refused":
      return {
        kind: "failed",
        id,
        code: outcome.code,
        detail: outcome.reason,
      };
    case "missing":
      return missing(id);
    case "conflict":
      return {
        kind: "failed",
        id,
        code: "key_conflict",
        detail: "Cannot let the task live again: another live one of the " +
          "worker has its key by now",
      };
  }
}

function missing(id: string): BulkResult {
  return {
    kind: "failed",
    id,
    code: "not_found",
    detail: "Cannot find task: there is none with this id",
  };
}
