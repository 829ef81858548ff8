/**
 * Computes the writes of an event, given the task and its rules.
 *
 * @module
 */

import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { type FoldDraft, foldDraft, foldThrough } from "../domain/history.ts";
import { type Actor, MIN_HISTORY_PER_TASK } from "../domain/records.ts";
import { resolveRules, type RulingWorker } from "../domain/rules.ts";
import { isFinal, type Task, type TaskDefinition } from "../domain/task.ts";
import type {
  EventContext,
  TaskEvent,
  TaskRules,
  Transition,
} from "../domain/task_event.ts";
import { transition } from "../domain/transition.ts";
import type { Write } from "../store/store.ts";
import type { ActiveTasks } from "./plan_usage.ts";
import { calendarsOfRule, type EngineParts } from "./parts.ts";
import { buildRemoval, sealChange } from "./task_writes.ts";

/** A request to apply an event to a task. */
export interface EventRequest {
  /** The tenant. */
  readonly tenantId: string;
  /** The task's id. */
  readonly id: string;
  /**
   * The event, or a function that chooses it by the current task; undefined
   * changes nothing.
   */
  readonly event: TaskEvent | ((task: Task) => TaskEvent | undefined);
  /** Who causes the event. */
  readonly actor: Actor | ((task: Task) => Actor);
  /**
   * Writes to commit together with a change of the task, or a function that
   * makes them of the task after it.
   *
   * @default {none}
   */
  readonly extraWrites?:
    | readonly Write[]
    | ((next: Task) => readonly Write[])
    | undefined;
  /**
   * The task as the caller knows it, which saves reading it. It may be out of
   * date.
   *
   * @default the task is read
   */
  readonly cachedTask?: Task | undefined;
}

/** The outcome of an event, before it was written. */
export type Settled =
  | { readonly kind: "changed"; readonly previous: Task; readonly task: Task }
  | { readonly kind: "unchanged"; readonly task: Task }
  | { readonly kind: "purged"; readonly previous: Task }
  | {
    readonly kind: "refused";
    readonly code: "wrong_state" | "lease_gone";
    readonly reason: string;
    readonly task: Task;
  }
  /**
   * The plan has no room for the task that the event would create, or let live
   * again.
   */
  | {
    readonly kind: "refused";
    readonly code: "quota_exceeded";
    readonly reason: string;
    readonly task: Task;
    /** How many live tasks the plan allows. */
    readonly limit: number;
    /** How many live tasks the tenant has. */
    readonly used: number;
  };

/** The planned writes of an event, and its outcome. */
export interface Plan {
  /** The outcome, valid once the writes are committed. */
  readonly settled: Settled;
  /** The writes. */
  readonly writes: readonly Write[];
  /**
   * How many of the writes are the engine's own; the others are extra writes.
   */
  readonly ownWrites: number;
  /** The tasks that the event creates. */
  readonly made: readonly Task[];
  /**
   * Releases the tasks' reservation in the tenant's plan. It has to be called
   * after the commit, whether it succeeded or not.
   *
   * @default nothing was reserved
   */
  readonly releaseRoom?: () => void;
}

/** A change that is about to be planned. */
interface Change {
  readonly request: EventRequest;
  readonly task: Task;
  readonly event: TaskEvent;
  readonly context: EventContext;
  readonly result: Extract<Transition, { readonly kind: "changed" }>;
}

/** The rules of tasks whose worker was removed; such tasks no longer run. */
const ORPHANS: RulingWorker = { timeoutMs: 30_000, maxLost: 3 };

/** Plans the writes of events. */
export class EventPlanner {
  readonly #parts: EngineParts;
  readonly #activeTasks: ActiveTasks;

  /**
   * Takes the engine's parts and the counts of live tasks, for the tenants'
   * quotas.
   */
  constructor(parts: EngineParts, activeTasks: ActiveTasks) {
    this.#parts = parts;
    this.#activeTasks = activeTasks;
  }

  /** The rules of a task, or of the definition that it is to get. */
  rules(
    task: TaskDefinition & Pick<Task, "tenantId">,
  ): MaybePromise<TaskRules> {
    const { workers, findLimits, ruleCache: cache, repositories } = this.#parts;
    const { tenantId, workerId } = task;
    return andThen(
      workers.get(tenantId, workerId),
      (worker) =>
        andThen(findLimits(tenantId), ({ retentionMs }) =>
          andThen(
            calendarsOfRule(repositories.calendars, task),
            (calendars) =>
              resolveRules(task, worker ?? ORPHANS, {
                cache,
                calendars,
                retentionMs: retentionMs ?? undefined,
              }),
          )),
    );
  }

  /**
   * Plans the writes of an event for a task as it was read; synchronous unless
   * something has to be read first.
   *
   * @throws {TypeError} when the task's rules cannot be read
   */
  plan(request: EventRequest, task: Task): MaybePromise<Plan> {
    const event = typeof request.event === "function"
      ? request.event(task)
      : request.event;
    if (event === undefined) {
      return settle(request, { settled: { kind: "unchanged", task } });
    }
    const rules = this.rules(
      event.kind === "update" || event.kind === "run_after"
        ? { ...event.definition, tenantId: task.tenantId }
        : task,
    );
    return andThen(
      rules,
      (rules) => this.#planBy(rules, { request, task, event }),
    );
  }

  #planBy(
    rules: TaskRules,
    { request, task, event }: {
      readonly request: EventRequest;
      readonly task: Task;
      readonly event: TaskEvent;
    },
  ): MaybePromise<Plan> {
    const { clock, random } = this.#parts;
    const context: EventContext = {
      nowMs: clock.nowMs(),
      actor: typeof request.actor === "function"
        ? request.actor(task)
        : request.actor,
      rules,
      random,
    };
    const result = transition(task, event, context);
    switch (result.kind) {
      case "unchanged":
        return settle(request, { settled: { kind: "unchanged", task } });
      case "refused": {
        const { code, reason } = result;
        const settled = { kind: "refused", code, reason, task } as const;
        return settle(request, { settled });
      }
      case "purge":
        return settle(request, {
          settled: { kind: "purged", previous: task },
          own: [buildRemoval(task)],
        });
      case "changed": {
        const change = { request, task, event, context, result };
        return result.spawnSlotsMs.length === 0 && revivedBy(change) === 0
          ? this.#planFolded(change)
          : this.#planWithRoom(change);
      }
    }
  }

  /**
   * Limits the tasks that become live to the room in the tenant's plan: those
   * that a schedule creates, and one that had ended.
   */
  async #planWithRoom(change: Change): Promise<Plan> {
    const { request, task, event, context, result } = change;
    const { tenantId } = task;
    const { activeTasks: limit } = await this.#parts.findLimits(tenantId);
    if (limit === null) return await this.#planFolded(change);
    const revived = revivedBy(change);
    const wanted = result.spawnSlotsMs.length + revived;
    const room = await this.#activeTasks.reserve(tenantId, { wanted, limit });
    const { granted, used } = room;
    const spawnRoom = Math.max(0, granted - revived);
    try {
      const fitting = granted === wanted
        ? result
        : transition(task, event, { ...context, spawnRoom });
      if (
        granted < revived || fitting.kind !== "changed" ||
        fitting.spawnSlotsMs.length > spawnRoom
      ) {
        room.release();
        const what = revived === 0 ? "run" : "let the task live again";
        const reason = `Cannot ${what}: the plan allows ${limit} active tasks`;
        const refusal = { kind: "refused", code: "quota_exceeded" } as const;
        const settled = { ...refusal, reason, task, limit, used };
        return settle(request, { settled });
      }
      const plan = await this.#planFolded({ ...change, result: fitting });
      const required = room.require(fitting.spawnSlotsMs.length + revived);
      return {
        ...plan,
        writes: [...required, ...plan.writes],
        ownWrites: plan.ownWrites + required.length,
        releaseRoom: () => room.release(),
      };
    } catch (error) {
      room.release();
      throw error;
    }
  }

  #planFolded(change: Change): MaybePromise<Plan> {
    const { task, result } = change;
    const added = result.history.length;
    return mayFold(task, added)
      ? foldFor(task, { added, parts: this.#parts })
        .then((fold) => this.#planChange(change, fold))
      : this.#planChange(change, undefined);
  }

  #planChange(
    { request, task, result, context: { rules } }: Change,
    fold: FoldDraft | undefined,
  ): Plan {
    const { task: next, writes, made } = sealChange(task, {
      next: result.next,
      drafts: result.history,
      fold,
      slotsMs: result.spawnSlotsMs,
      startWithinMs: result.startWithinMs,
      rules,
      parts: this.#parts,
    });
    return settle(request, {
      settled: { kind: "changed", previous: task, task: next },
      own: writes,
      made,
    });
  }
}

/** How many ended tasks a change makes live again: one or none. */
function revivedBy({ task, result: { next } }: Change): number {
  return isFinal(task.status) && !isFinal(next.status) ? 1 : 0;
}

/** Builds the plan of an outcome, with the request's extra writes. */
function settle(
  request: EventRequest,
  { settled, own = [], made = [] }: {
    readonly settled: Settled;
    readonly own?: readonly Write[];
    readonly made?: readonly Task[];
  },
): Plan {
  if (settled.kind !== "changed" || request.extraWrites === undefined) {
    return { settled, writes: own, ownWrites: own.length, made };
  }
  const { extraWrites } = request;
  const extra = typeof extraWrites === "function"
    ? extraWrites(settled.task)
    : extraWrites;
  const writes = [...own, ...extra];
  return { settled, writes, ownWrites: own.length, made };
}

/** Options of {@linkcode foldFor}. */
interface FoldForOptions {
  /** About how many records the change adds; at least one. */
  readonly added: number;
  /** The engine's parts. */
  readonly parts: Pick<EngineParts, "store" | "findLimits" | "clock">;
}

/**
 * Tells whether a history may be long enough for {@linkcode foldFor}; most are
 * not.
 */
function mayFold(task: Task, added: number): boolean {
  return task.historyCount + added > MIN_HISTORY_PER_TASK;
}

/**
 * Returns the record that folds the history of a task that is about to change,
 * when the tenant's plan limits it; undefined when there is nothing to fold.
 * For a short history nothing is read.
 *
 * @throws {Error} when the store fails
 */
export async function foldFor(
  task: Task,
  { added, parts: { store, findLimits, clock } }: FoldForOptions,
): Promise<FoldDraft | undefined> {
  if (!mayFold(task, added)) return undefined;
  const { tenantId, id: taskId } = task;
  const { historyPerTask: limit } = await findLimits(tenantId);
  const through = foldThrough(task, { added, limit });
  if (through === undefined) return undefined;
  const { records: [last] } = await store.history({
    tenantId,
    taskId,
    order: "desc",
    afterSeq: through + 1,
    limit: 1,
  });
  // The record is gone when the task was changed after it was read; the write
  // will then conflict.
  if (last?.seq !== through) return undefined;
  return foldDraft(task, {
    folded: { count: through, hash: last.hash },
    nowMs: clock.nowMs(),
  });
}
