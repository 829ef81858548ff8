/**
 * Applies a bulk action to many tasks, a portion at a time. Each portion and
 * the action's progress are written in the same commit, so the progress is
 * right wherever the process dies.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import {
  type Store,
  StoreBusyError,
  type TransactionResult,
  type Write,
} from "../../store/store.ts";
import { taskNumber } from "../../store/task_id.ts";
import type { Engine } from "../engine.ts";
import type { Settled } from "../event_plan.ts";
import {
  isRevival,
  planRemoval,
  removedWorker,
  requiringWorker,
} from "../owner_actions.ts";
import {
  addResults,
  type BulkOrder,
  type BulkPosition,
  type BulkProgress,
  type BulkResult,
  firstPosition,
  NO_PROGRESS,
} from "./operation.ts";

/**
 * The most tasks of a portion, unless the store has room for fewer; few enough
 * for other tenants' writes to be served in between.
 */
const PORTION = 50;

/**
 * How many commits of a portion may fail in a row, because a task changed
 * meanwhile or the store is busy. Each try has half as many tasks as the one
 * before.
 */
const MAX_TRIES = 12;

/** The progress of an order between two portions. */
export interface BulkState {
  /** How many tasks were processed so far, by outcome. */
  readonly progress: BulkProgress;
  /** Where the next portion begins; undefined at the end. */
  readonly from: BulkPosition | undefined;
}

/** Options of {@linkcode runPortion}. */
interface PortionOptions {
  /** Which tasks are selected, and what is done to them. */
  readonly order: BulkOrder;
  /** The tasks processed so far, by outcome. */
  readonly progress: BulkProgress;
  /** Where the portion begins. */
  readonly from: BulkPosition;
  /**
   * Returns writes to commit together with the portion, given the state after
   * it.
   *
   * @default nothing, and tasks that the store has no room for count as failed
   */
  readonly inSameCommit?:
    | ((after: BulkState) => readonly Write[])
    | undefined;
  /**
   * Waits this many milliseconds, because the store has no room.
   *
   * @default by the engine's clock
   */
  readonly rest?: ((delayMs: number) => Promise<void>) | undefined;
}

/** A task that the order selects, or an id that no task has. */
interface Target {
  readonly id: string;
  readonly task: Task | undefined;
}

/** The planned result and writes for a single task. */
interface TargetPlan {
  readonly result: BulkResult;
  readonly writes: readonly Write[];
  readonly announce?: () => void;
  readonly releaseRoom?: (() => void) | undefined;
}

type Failed = Extract<BulkResult, { readonly kind: "failed" }>;

type Conflict = Extract<TransactionResult, { readonly kind: "conflict" }>;

/**
 * Applies an order to all its tasks, without storing the progress.
 *
 * @throws {Error} when the store fails
 */
export async function runOrder(
  engine: Engine,
  order: BulkOrder,
): Promise<BulkProgress> {
  let progress = NO_PROGRESS;
  let from: BulkPosition | undefined = firstPosition(order);
  while (from !== undefined) {
    const after = await runPortion(engine, { order, progress, from });
    progress = after?.progress ?? progress;
    from = after?.from;
  }
  return progress;
}

/**
 * Applies an order to the next portion of its tasks.
 *
 * @returns the state after the portion; undefined when the writes of
 * `inSameCommit` conflicted, so nothing was written
 * @throws {StoreBusyError} when the store stays busy and the progress is stored
 * @throws {Error} when the store fails
 */
export async function runPortion(
  engine: Engine,
  options: PortionOptions,
): Promise<BulkState | undefined> {
  const { order, progress, from, inSameCommit } = options;
  const { store, clock } = engine.parts;
  const { rest = (delayMs) => sleep(delayMs, clock) } = options;
  const page = await readPage(store, { order, progress, from });
  // Tasks whose write a commit refused, by id, with their result.
  const refused = new Map<string, BulkResult>();
  let { targets } = page;
  for (let failures = 0;;) {
    const plans = await planAll(engine, order, { targets, page, refused });
    const after = stateAfter(plans.map(({ result }) => result), {
      progress,
      order,
      next: behind(targets, { page, from }),
    });
    const own = order.isDryRun ? [] : plans.flatMap(({ writes }) => writes);
    const writes = inSameCommit === undefined
      ? own
      : [...own, ...inSameCommit(after)];
    let busy: StoreBusyError | undefined;
    try {
      if (writes.length === 0) return after;
      const [outcome] = await store.commit([{ writes }]);
      if (outcome?.kind === "ok") {
        if (!order.isDryRun) { for (const { announce } of plans) announce?.(); }
        return after;
      }
      if (outcome !== undefined && outcome.write >= own.length) {
        return undefined;
      }
      if (outcome?.reason === "quota") {
        engine.changes.activeTasks.recount(order.tenantId);
      }
      const refusal = outcome && findRefusal(outcome, { plans, targets });
      if (refusal !== undefined) {
        refused.set(refusal.id, refusal);
        continue;
      }
    } catch (error) {
      if (!(error instanceof StoreBusyError)) throw error;
      busy = error;
    } finally {
      for (const { releaseRoom } of plans) releaseRoom?.();
    }
    const isLast = ++failures === MAX_TRIES;
    if (busy === undefined) {
      if (isLast) {
        for (const one of targets) refused.set(one.id, failed(one, "changing"));
      }
    } else if (!isLast) {
      await rest(busy.retryAfterMs);
    } else if (inSameCommit !== undefined) throw busy;
    else {
      return stateAfter(page.targets.map((one) => failed(one, "busy")), {
        progress,
        order,
        next: page.next,
      });
    }
    targets = targets.slice(0, Math.max(1, Math.floor(targets.length / 2)));
    targets = await readTargets(store, order, targets.map(({ id }) => id));
  }
}

function sleep(delayMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(resolve, delayMs));
}

interface Page {
  readonly targets: readonly Target[];
  /** Where the next page begins; undefined when this is the last one. */
  readonly next: BulkPosition | undefined;
}

async function readPage(
  store: Store,
  { order, progress, from }: PortionOptions,
): Promise<Page> {
  const { tenantId, ids = [], filter, orderedAtMs, limit } = order;
  const size = Math.min(PORTION, limit - progress.matched);
  if (size <= 0) return { targets: [], next: undefined };
  if (from.kind === "ids") {
    const wanted = ids.slice(from.index, from.index + size);
    const index = from.index + wanted.length;
    return {
      targets: await readTargets(store, order, wanted),
      next: index < ids.length ? { kind: "ids", index } : undefined,
    };
  }
  // A task's creation time never changes, so no task is selected twice.
  const page = await store.listTasks({
    by: "date",
    ...filter,
    tenantId,
    sort: "created_at",
    order: "asc",
    limit: size,
    after: from.after,
  });
  const meant = page.tasks.filter((task) => task.createdAtMs <= orderedAtMs);
  const isEnd = page.next === undefined || meant.length < page.tasks.length;
  return {
    targets: meant.map((task) => ({ id: task.id, task })),
    next: isEnd ? undefined : { kind: "filter", after: page.next },
  };
}

/** Reads the current tasks with the given ids. */
async function readTargets(
  store: Store,
  { tenantId }: BulkOrder,
  ids: readonly string[],
): Promise<readonly Target[]> {
  const known = ids.filter((id) => taskNumber(id) !== undefined);
  const tasks = await store.tasks(tenantId, known);
  const byId = new Map(known.map((id, index) => [id, tasks[index]]));
  return ids.map((id) => ({ id, task: byId.get(id) }));
}

/**
 * Where the next portion begins after these targets, which are the first of a
 * page.
 */
function behind(
  targets: readonly Target[],
  { page, from }: { readonly page: Page; readonly from: BulkPosition },
): BulkPosition | undefined {
  if (targets.length === page.targets.length) return page.next;
  if (from.kind === "ids") {
    return { kind: "ids", index: from.index + targets.length };
  }
  // The task as it was read with the page; it may have been removed since.
  const last = page.targets[targets.length - 1]?.task;
  return last === undefined ? from : {
    kind: "filter",
    after: { sortMs: last.createdAtMs, id: last.id },
  };
}

function stateAfter(
  results: readonly BulkResult[],
  { progress, order, next }: {
    readonly progress: BulkProgress;
    readonly order: BulkOrder;
    readonly next: BulkPosition | undefined;
  },
): BulkState {
  const after = addResults(progress, results);
  const isEnd = after.matched >= order.limit;
  return { progress: after, from: isEnd ? undefined : next };
}

async function planAll(
  engine: Engine,
  order: BulkOrder,
  { targets, page, refused }: {
    readonly targets: readonly Target[];
    readonly page: Page;
    readonly refused: ReadonlyMap<string, BulkResult>;
  },
): Promise<readonly TargetPlan[]> {
  // Keys of the tasks planned so far: two tasks of the same key cannot both
  // become live again.
  const keys = new Set<string>();
  const plans: TargetPlan[] = [];
  for (const [index, target] of targets.entries()) {
    const result = refused.get(target.id);
    const wasThere = page.targets[index]?.task !== undefined;
    plans.push(
      result !== undefined
        ? unwritten(result)
        : target.task === undefined
        ? unwritten(
          wasThere && order.action === "delete"
            ? { kind: "unchanged" }
            : failed(target, "missing"),
        )
        : order.action === "delete"
        ? await planDeletion(engine, order, target.task)
        : await planEvent(engine, order, { task: target.task, keys }),
    );
  }
  return plans;
}

async function planDeletion(
  engine: Engine,
  { actor }: BulkOrder,
  task: Task,
): Promise<TargetPlan> {
  const plan = await planRemoval(engine, { task, actor });
  if (plan.kind === "planned") return { ...plan, result: { kind: "changed" } };
  const { code, reason: detail } = plan;
  return unwritten({ kind: "failed", id: task.id, code, detail });
}

async function planEvent(
  { parts, changes }: Engine,
  { action, actor }: BulkOrder,
  { task, keys }: { readonly task: Task; readonly keys: Set<string> },
): Promise<TargetPlan> {
  if (action === "delete") throw new TypeError("Cannot delete by an event");
  const { tenantId, id } = task;
  const plan = await changes.plan({
    tenantId,
    id,
    event: { kind: action },
    actor,
  }, task);
  const { settled, writes, releaseRoom } = plan;
  const refusal = isRevival(settled)
    ? await revivalRefusal(parts, { task: settled.task, keys })
    : undefined;
  if (refusal !== undefined) {
    releaseRoom?.();
    return unwritten(refusal);
  }
  return {
    result: toResult(settled),
    writes: [...writes, ...requiringWorker(parts, settled)],
    announce: () => changes.announcePlan(plan),
    releaseRoom,
  };
}

/**
 * Tells why a task cannot become live again, as far as that is known before the
 * commit.
 */
async function revivalRefusal(
  { workers, store }: Engine["parts"],
  { task, keys }: { readonly task: Task; readonly keys: Set<string> },
): Promise<BulkResult | undefined> {
  const { tenantId, workerId, key } = task;
  if (await workers.get(tenantId, workerId) === undefined) {
    return orphaned(task);
  }
  if (key === undefined) return undefined;
  const name = `${workerId}\n${key}`;
  const isTaken = keys.has(name) ||
    await store.taskByKey({ tenantId, workerId, key }) !== undefined;
  keys.add(name);
  return isTaken ? failed(task, "key") : undefined;
}

/**
 * Tells why a task could not be written; undefined when another try may
 * succeed.
 */
function findRefusal(
  { write, reason }: Conflict,
  { plans, targets }: {
    readonly plans: readonly TargetPlan[];
    readonly targets: readonly Target[];
  },
): Failed | undefined {
  let end = 0;
  const index = plans.findIndex(({ writes }) => (end += writes.length) > write);
  const task = targets[index]?.task;
  if (task === undefined || !isFinal(task.status)) return undefined;
  if (reason === "missing") return orphaned(task);
  return reason === "key" ? failed(task, "key") : undefined;
}

function toResult(settled: Settled): BulkResult {
  switch (settled.kind) {
    case "changed":
    case "purged":
      return { kind: "changed" };
    case "unchanged":
      return { kind: "unchanged" };
    case "refused": {
      const { code, reason: detail, task: { id } } = settled;
      return { kind: "failed", id, code, detail };
    }
  }
}

function unwritten(result: BulkResult): TargetPlan {
  return { result, writes: [] };
}

/**
 * Why an action fails for a task: a code for programs and a text for people.
 */
const FAILURES = {
  missing: ["not_found", "Cannot find task: no task has this id"],
  key: [
    "key_conflict",
    "Cannot reopen the task: another live task of the worker has its key now",
  ],
  changing: ["overloaded", "Cannot change task: it changes too fast"],
  busy: [
    "overloaded",
    "Cannot change task: too many writes are waiting",
  ],
} as const;

function failed(
  { id }: Pick<Target, "id">,
  reason: keyof typeof FAILURES,
): Failed {
  const [code, detail] = FAILURES[reason];
  return { kind: "failed", id, code, detail };
}

function orphaned(task: Task): Failed {
  const detail = removedWorker(task);
  return { kind: "failed", id: task.id, code: "unknown_worker", detail };
}
