/**
 * Plans the writes of an event, given the task and the rules in force.
 *
 * @module
 */

import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { type FoldDraft, foldDraft, foldThrough } from "../domain/history.ts";
import { type Actor, MIN_HISTORY_PER_TASK } from "../domain/records.ts";
import { rulesOf, type RulingWorker } from "../domain/rules.ts";
import type { Task, TaskDefinition } from "../domain/task.ts";
import type {
  EventContext,
  TaskEvent,
  TaskRules,
  Transition,
} from "../domain/task_event.ts";
import { transition } from "../domain/transition.ts";
import type { Write } from "../store/store.ts";
import type { ActiveTasks } from "./plan_usage.ts";
import type { EngineParts } from "./parts.ts";
import { removalOf, sealChange } from "./task_writes.ts";

/** An event on its way to a task. */
export interface EventRequest {
  /** The tenant. */
  readonly tenantId: string;
  /** The task's id. */
  readonly id: string;
  /** The event, or what decides it from the task; undefined lets it be. */
  readonly event: TaskEvent | ((task: Task) => TaskEvent | undefined);
  /** The cause of the event. */
  readonly actor: Actor | ((task: Task) => Actor);
  /**
   * Makes the writes that are committed with it, from the outcome.
   * @default nothing
   */
  readonly extraWrites?: (outcome: Settled) => readonly Write[];
  /**
   * The task as the caller has it, which saves reading it. It may be out of
   * date.
   * @default it is read
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
  /** The plan has no room for the task that it would make. */
  | {
    readonly kind: "refused";
    readonly code: "quota_exceeded";
    readonly reason: string;
    readonly task: Task;
    /** How many live tasks the plan allows. */
    readonly limit: number;
    /** How many there are. */
    readonly used: number;
  };

/** The writes of an event. */
export interface Plan {
  /** The outcome once they are written. */
  readonly settled: Settled;
  /** The writes. */
  readonly writes: readonly Write[];
  /** How many of the writes are the engine's own; the others go along. */
  readonly ownWrites: number;
  /** Tasks that are made by it. */
  readonly made: readonly Task[];
  /**
   * Releases their reservation in the tenant's plan; to be called after the
   * commit, whether it succeeded or not.
   *
   * @default no room was taken
   */
  readonly releaseRoom?: () => void;
}

/** A change that is to be written. */
interface Change {
  readonly request: EventRequest;
  readonly task: Task;
  readonly event: TaskEvent;
  readonly context: EventContext;
  readonly result: Extract<Transition, { readonly kind: "changed" }>;
}

/** Rules of tasks whose worker was removed; they no longer run. */
const ORPHANS: RulingWorker = { timeoutMs: 30_000, maxLost: 3 };

/** Plans events. */
export class EventPlanner {
  readonly #parts: EngineParts;
  readonly #activeTasks: ActiveTasks;

  /** A planner over the engine's parts, which keeps to the tenants' plans. */
  constructor(parts: EngineParts, activeTasks: ActiveTasks) {
    this.#parts = parts;
    this.#activeTasks = activeTasks;
  }

  /** The rules in force for a task, or for the definition that it is to have. */
  rules(
    task: TaskDefinition & Pick<Task, "tenantId">,
  ): MaybePromise<TaskRules> {
    const { workers, limitsOf, ruleCache: cache } = this.#parts;
    const { tenantId, workerId } = task;
    return andThen(
      workers.get(tenantId, workerId),
      (worker) =>
        andThen(limitsOf(tenantId), ({ retentionMs }) =>
          rulesOf(
            task,
            worker ?? ORPHANS,
            { cache, retentionMs: retentionMs ?? undefined },
          )),
    );
  }

  /**
   * What is to be written for an event of a task as it is known; at once unless
   * something has to be read for it.
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
      event.kind === "update"
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
          own: [removalOf(task)],
        });
      case "changed": {
        const change = { request, task, event, context, result };
        return result.spawnSlotsMs.length === 0
          ? this.#planFolded(change)
          : this.#planSpawning(change);
      }
    }
  }

  /** Lets a schedule make as many tasks as the tenant's plan has room for. */
  async #planSpawning(change: Change): Promise<Plan> {
    const { request, task, event, context, result } = change;
    const { tenantId } = task;
    const { activeTasks: limit } = await this.#parts.limitsOf(tenantId);
    if (limit === null) return await this.#planFolded(change);
    const wanted = result.spawnSlotsMs.length;
    const room = await this.#activeTasks.reserve(tenantId, { wanted, limit });
    const { granted: spawnRoom, used } = room;
    try {
      const fitting = spawnRoom === wanted
        ? result
        : transition(task, event, { ...context, spawnRoom });
      if (
        fitting.kind !== "changed" || fitting.spawnSlotsMs.length > spawnRoom
      ) {
        room.release();
        const reason = `Cannot run: the plan allows ${limit} active tasks`;
        const refusal = { kind: "refused", code: "quota_exceeded" } as const;
        const settled = { ...refusal, reason, task, limit, used };
        return settle(request, { settled });
      }
      const plan = await this.#planFolded({ ...change, result: fitting });
      return { ...plan, releaseRoom: () => room.release() };
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

/** The plan of an outcome. */
function settle(
  request: EventRequest,
  { settled, own = [], made = [] }: {
    readonly settled: Settled;
    readonly own?: readonly Write[];
    readonly made?: readonly Task[];
  },
): Plan {
  const extra = request.extraWrites?.(settled) ?? [];
  const writes = extra.length === 0 ? own : [...own, ...extra];
  return { settled, writes, ownWrites: own.length, made };
}

/** Options of {@linkcode foldFor}. */
interface FoldForOptions {
  /** About how many records it adds; at least one. */
  readonly added: number;
  /** The engine's parts. */
  readonly parts: Pick<EngineParts, "store" | "limitsOf" | "clock">;
}

/** Whether a history may be long enough to ask {@linkcode foldFor}; most are not. */
function mayFold(task: Task, added: number): boolean {
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
  // It is gone when the task was changed after it was read; the write will
  // conflict.
  if (last?.seq !== through) return undefined;
  return foldDraft(task, {
    folded: { count: through, hash: last.hash },
    nowMs: clock.nowMs(),
  });
}
