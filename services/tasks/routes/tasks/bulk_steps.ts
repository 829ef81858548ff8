/**
 * Does an action to many tasks, some at a time.
 *
 * @module
 */

import { isFinal, type Task } from "../../domain/task.ts";
import { transition } from "../../domain/transition.ts";
import type { EventOutcome } from "../../engine/changes.ts";
import type { Engine } from "../../engine/engine.ts";
import { StoreBusyError } from "../../store/store.ts";
import { taskNumber } from "../../store/task_id.ts";
import { type BulkOrder, type BulkResult, eventOf } from "./bulk_action.ts";
import type { BulkPosition } from "./bulk_position.ts";
import {
  type Found,
  goOn,
  readAgain,
  type StepTarget,
  targetOf,
} from "./bulk_trace.ts";
import { inPortions, refusalOf } from "./portions.ts";
import { removedWorker, requiringWorker } from "./removed_worker.ts";
import { removeTask } from "./task_removal.ts";

/** Tasks of one step. */
export const STEP = 200;

/** How often a removal is begun anew when its task changes meanwhile. */
const MAX_TRIES = 20;

/** What a step is to be done to. */
export interface PlannedStep {
  /** The tasks. */
  readonly found: readonly Found[];
  /** Where the next step begins; absent when this is the last. */
  readonly next?: BulkPosition;
}

/** Options of {@linkcode planStep}. */
export interface PlanStepOptions {
  /** Where it begins. */
  readonly from: BulkPosition;
  /** Tasks that were looked at before. */
  readonly matched: number;
}

/**
 * Looks what the next step is to be done to.
 *
 * @throws {Error} when the store fails
 */
export async function planStep(
  engine: Engine,
  order: BulkOrder,
  { from, matched }: PlanStepOptions,
): Promise<PlannedStep> {
  const size = Math.min(STEP, order.limit - matched);
  if (size <= 0) return { found: [] };
  const { found, next } = await read(engine, order, { from, size });
  const isLast = next === undefined || matched + found.length >= order.limit;
  return isLast ? { found } : { found, next };
}

/**
 * Does a step to the tasks that were found for it. What the store has no room
 * for in the end is told as failed.
 *
 * @throws {Error} when the store fails
 */
export async function doStep(
  engine: Engine,
  order: BulkOrder,
  found: readonly Found[],
): Promise<readonly BulkResult[]> {
  if (order.isDryRun) return await wouldBe(engine, order, found);
  const work = (portion: readonly Found[]): Promise<readonly Doing[]> =>
    done(engine, order, portion);
  return await inPortions(found, {
    clock: engine.parts.clock,
    work: (portion, { isFirst }) =>
      isFirst
        ? work(portion)
        : goOn(engine, order, { targets: portion.map(targetOf), work }),
    giveUp: refused,
  });
}

/**
 * Does a step that was begun before, but for what was done already.
 *
 * @throws {Error} when the store fails
 */
export async function resumeStep(
  engine: Engine,
  order: BulkOrder,
  targets: readonly StepTarget[],
): Promise<readonly BulkResult[]> {
  const work = (found: readonly Found[]): Promise<readonly BulkResult[]> =>
    doStep(engine, order, found);
  return order.isDryRun
    ? await work(await readAgain(engine, order, targets))
    : await goOn(engine, order, { targets, work });
}

/** What became of a task, or that the store had no room for it. */
type Doing = BulkResult | StoreBusyError;

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
): Promise<readonly Doing[]> {
  const { action, tenantId, actor } = order;
  if (action === "delete") {
    // Together, so that one commit can take what several of them write.
    return await Promise.all(
      found.map((one) => remove(engine, order, one).catch(refusalOf)),
    );
  }
  const present = found.flatMap(({ task }) => task === undefined ? [] : [task]);
  const outcomes = await engine.changes.applyAll(
    present.map((known) => ({
      tenantId,
      id: known.id,
      event: eventOf(action),
      actor,
      known,
      along: (settled) => requiringWorker(engine.parts, settled),
    })),
  ).catch(refusalOf);
  if (outcomes instanceof StoreBusyError) return found.map(() => outcomes);
  const byId = new Map(present.map(({ id }, index) => [id, outcomes[index]]));
  return found.map((one) =>
    resultOf(byId.get(one.id) ?? { kind: "missing" }, one)
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
    const isOrphan = result?.kind === "changed" && isFinal(task.status) &&
      await parts.workers.get(task.tenantId, task.workerId) === undefined;
    results.push(
      isOrphan
        ? orphaned(task)
        : result?.kind === "refused"
        ? { kind: "failed", id, code: result.code, detail: result.reason }
        : { kind: result?.kind === "unchanged" ? "unchanged" : "changed" },
    );
  }
  return results;
}

function resultOf(outcome: EventOutcome, { id, task }: Found): BulkResult {
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
      if (outcome.reason === "missing" && task !== undefined) {
        return orphaned(task);
      }
      return {
        kind: "failed",
        id,
        code: "key_conflict",
        detail: "Cannot let the task live again: another live one of the " +
          "worker has its key by now",
      };
  }
}

function refused({ id }: Found): BulkResult {
  return {
    kind: "failed",
    id,
    code: "overloaded",
    detail: "Cannot change task: too much waits to be written already",
  };
}

function orphaned(task: Task): BulkResult {
  const detail = removedWorker(task);
  return { kind: "failed", id: task.id, code: "unknown_worker", detail };
}

function missing(id: string): BulkResult {
  return {
    kind: "failed",
    id,
    code: "not_found",
    detail: "Cannot find task: there is none with this id",
  };
}
