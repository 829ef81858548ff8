/**
 * Applies events to tasks: reads the task, computes the change, writes it, and
 * starts over when another change was written first.
 *
 * @module
 */

import type { MaybePromise } from "../../shared/settled.ts";
import { computePlacement, type Placement } from "../domain/placement.ts";
import { isFinal, type Task, type TaskDefinition } from "../domain/task.ts";
import type { TaskEvent, TaskRules } from "../domain/task_event.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Transaction, TransactionResult, Write } from "../store/store.ts";
import { ActiveTasks } from "./plan_usage.ts";
import {
  EventPlanner,
  type EventRequest,
  type Plan,
  type Settled,
} from "./event_plan.ts";
import type { EngineParts } from "./parts.ts";
import { tenantOfInternal } from "./workers.ts";

export type { EventRequest, Settled } from "./event_plan.ts";

/**
 * How many running tasks are read and written at once when all of them change.
 */
const PAGE = 500;
/**
 * How often an event is tried again when another change of the task was written
 * first.
 */
const MAX_TRIES = 50;

/** The outcome of an event. */
export type EventOutcome =
  | Settled
  /** There is no such task. */
  | { readonly kind: "missing" }
  /** The extra writes conflicted with the store; nothing was written. */
  | { readonly kind: "conflict"; readonly reason: ConflictReason };

/** Events that were planned and are committed elsewhere. */
export interface Draft {
  /** The transactions to commit. */
  readonly transactions: readonly Transaction[];
  /**
   * Notifies the listeners of what was committed, and returns the outcome of
   * each event.
   */
  settle(results: readonly TransactionResult[]): readonly EventOutcome[];
  /** Releases what was reserved in plans; called after the commit, or without. */
  release(): void;
}

/** Why a write conflicted with the store. */
export type ConflictReason = Extract<
  TransactionResult,
  { kind: "conflict" }
>["reason"];

/** A change of a task that was committed. */
export interface TaskChange {
  /** The task before it; absent when it is new. */
  readonly previous: Task | undefined;
  /** The task after the change; absent when it was removed. */
  readonly next: Task | undefined;
  /** The indexed values by which the store finds `next`. */
  readonly placement: Placement | undefined;
}

/** Kinds of changes that listeners ask for; a change may be of several. */
type ChangeKind =
  /** A task that was there has changed, and still is. */
  | "changed"
  /** A worker may take the task. */
  | "ready"
  /** The clock has to look at the task at some time. */
  | "timed"
  /** The task waits for others. */
  | "blocked"
  /** The task no longer runs. */
  | "stopped"
  | "canceled"
  /** The last run has ended, or the task was removed. */
  | "settled"
  /** A task that had ended goes on. */
  | "reopened"
  /** The task is one of the service itself. */
  | "internal";

/** A function that is called with changes of tasks. */
interface ChangeListener {
  readonly kinds: readonly ChangeKind[] | undefined;
  readonly listen: (change: TaskChange) => void;
}

/** Applies events to tasks. */
export class TaskChanges {
  /** Counts the live tasks of tenants. */
  readonly activeTasks: ActiveTasks;
  readonly #parts: EngineParts;
  readonly #planner: EventPlanner;
  readonly #listeners = new Set<ChangeListener>();

  /** Takes the engine's parts. */
  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.activeTasks = new ActiveTasks(parts, this);
    this.#planner = new EventPlanner(parts, this.activeTasks);
  }

  /**
   * Adds a listener; it is called after the commit and must not throw.
   *
   * @param kinds the changes it is called with; all by default
   * @returns a function that removes it
   */
  onChange(
    listen: ChangeListener["listen"],
    kinds?: readonly ChangeKind[],
  ): () => void {
    const listener = { listen, kinds };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Notifies the listeners of a change that was committed elsewhere. */
  announce(previous: Task | undefined, next: Task | undefined): void {
    const placement = next && computePlacement(next);
    const change = { previous, next, placement };
    const is = findKinds(change);
    for (const { listen, kinds } of this.#listeners) {
      if (kinds?.some((kind) => is[kind]) ?? true) listen(change);
    }
  }

  /** The rules of a task, or of the definition that it is to get. */
  rules(
    task: TaskDefinition & Pick<Task, "tenantId">,
  ): MaybePromise<TaskRules> {
    return this.#planner.rules(task);
  }

  /**
   * Applies one event.
   *
   * @throws {Error} when the store fails, or when the task changes faster than
   * the event can be applied
   */
  async apply(request: EventRequest): Promise<EventOutcome> {
    const [outcome] = await this.#applyAll(
      [request],
      (request, task) => this.planStrictly(request, task),
    );
    if (outcome === undefined) throw new Error("Cannot apply event: no answer");
    return outcome;
  }

  /**
   * Applies events to different tasks in one commit. Each succeeds or fails by
   * itself; one whose task's rules cannot be read is refused.
   *
   * @throws {Error} when the store fails, or when a task changes faster than
   * its event can be applied
   */
  async applyAll(
    requests: readonly EventRequest[],
  ): Promise<readonly EventOutcome[]> {
    return await this.#applyAll(
      requests,
      (request, task) => this.plan(request, task),
    );
  }

  async #applyAll(
    requests: readonly EventRequest[],
    plan: (request: EventRequest, task: Task) => MaybePromise<Plan>,
  ): Promise<readonly EventOutcome[]> {
    const outcomes = new Array<EventOutcome | undefined>(requests.length);
    let open = requests.map((_, index) => index);
    for (let tries = 0; open.length > 0; tries++) {
      if (tries === MAX_TRIES) {
        throw new Error(
          `Cannot change task: it changed ${MAX_TRIES} times meanwhile`,
        );
      }
      const round = { open, outcomes, isFirst: tries === 0, plan };
      const rooms: (() => void)[] = [];
      try {
        open = await this.#round(requests, { ...round, rooms });
      } finally {
        // The tasks that were created are counted by now.
        for (const release of rooms) release();
      }
    }
    return outcomes.map((outcome) => outcome ?? { kind: "missing" });
  }

  /**
   * Plans events of tasks as they were just read, for a claim, which commits
   * them. A task that was changed meanwhile conflicts, and is not tried again.
   *
   * @throws {Error} when the store fails; nothing was planned
   */
  async draft(
    requests: readonly (EventRequest & { readonly cachedTask: Task })[],
  ): Promise<Draft> {
    const plans: Plan[] = [];
    const release = (): void => {
      for (const { releaseRoom } of plans) releaseRoom?.();
    };
    try {
      for (const request of requests) {
        const planning = this.plan(request, request.cachedTask);
        plans.push(planning instanceof Promise ? await planning : planning);
      }
    } catch (error) {
      release();
      throw error;
    }
    const written = plans.filter(({ writes }) => writes.length > 0);
    const transactions = written.map(({ writes }) => ({ writes }));
    return {
      transactions,
      settle: (results) => {
        this.#noteFullPlans(transactions, results);
        const byPlan = new Map(
          written.map((plan, index) => [plan, results[index]]),
        );
        return plans.map((plan): EventOutcome => {
          if (plan.writes.length === 0) return plan.settled;
          const result = byPlan.get(plan);
          if (result?.kind !== "ok") {
            return { kind: "conflict", reason: result?.reason ?? "version" };
          }
          this.announcePlan(plan);
          return plan.settled;
        });
      },
      release,
    };
  }

  /**
   * Applies an event to each running task that needs one, page by page.
   *
   * @param judge called with each page; returns what picks the event of a task,
   * also when that has changed meanwhile
   * @returns how many tasks changed
   * @throws {Error} as {@linkcode apply}; the tasks before may have changed
   */
  async applyToRunning(
    judge: (
      page: readonly Task[],
    ) => MaybePromise<(task: Task) => TaskEvent | undefined>,
  ): Promise<number> {
    let changed = 0;
    let after: string | undefined;
    do {
      const page = await this.#parts.store.scan({
        status: "running",
        limit: PAGE,
        after,
      });
      const pickEvent = await judge(page.tasks);
      const requests = page.tasks.filter((task) =>
        pickEvent(task) !== undefined
      )
        .map((task): EventRequest => ({
          tenantId: task.tenantId,
          id: task.id,
          event: pickEvent,
          actor: SYSTEM_ACTOR,
          cachedTask: task,
        }));
      const outcomes = await this.applyAll(requests);
      changed += outcomes.filter(({ kind }) => kind === "changed").length;
      after = page.next;
    } while (after !== undefined);
    return changed;
  }

  /** Tries the open requests once; returns those that are still open. */
  async #round(
    requests: readonly EventRequest[],
    round: {
      readonly open: readonly number[];
      readonly outcomes: (EventOutcome | undefined)[];
      readonly isFirst: boolean;
      /** Plans the writes of an event for a task as it was read. */
      readonly plan: (request: EventRequest, task: Task) => MaybePromise<Plan>;
      /**
       * Functions that release the reserved quota of the tasks that the round
       * creates.
       */
      readonly rooms: (() => void)[];
    },
  ): Promise<number[]> {
    const { open, outcomes, isFirst, rooms } = round;
    const planned: { readonly index: number; readonly plan: Plan }[] = [];
    const again: number[] = [];
    const tasks = await this.#read(requests, { open, isFirst });
    for (const [position, index] of open.entries()) {
      const request = requests[index];
      const task = tasks[position];
      if (request === undefined || task === undefined) {
        outcomes[index] = { kind: "missing" };
        continue;
      }
      const planning = round.plan(request, task);
      const plan = planning instanceof Promise ? await planning : planning;
      if (plan.releaseRoom !== undefined) rooms.push(plan.releaseRoom);
      // The cached task may be out of date. A change reveals that when it is
      // written; that nothing changes has to be confirmed by reading the task.
      if (plan.ownWrites === 0 && isFirst && request.cachedTask !== undefined) {
        again.push(index);
      } else if (plan.writes.length === 0) outcomes[index] = plan.settled;
      else planned.push({ index, plan });
    }
    if (planned.length === 0) return again;
    const results = await this.#commit(
      planned.map(({ plan }): Transaction => ({ writes: plan.writes })),
    );
    for (const [position, { index, plan }] of planned.entries()) {
      const result = results[position];
      if (result?.kind === "ok") {
        outcomes[index] = plan.settled;
        this.announcePlan(plan);
      } else if (
        result !== undefined && result.write < plan.ownWrites &&
        isOvertaken(result.reason)
      ) again.push(index);
      else {
        const reason = result?.reason ?? "version";
        outcomes[index] = { kind: "conflict", reason };
      }
    }
    return again;
  }

  /**
   * Reads the tasks of the open requests. In the first round a cached task is
   * used instead.
   */
  async #read(
    requests: readonly EventRequest[],
    { open, isFirst }: {
      readonly open: readonly number[];
      readonly isFirst: boolean;
    },
  ): Promise<readonly (Task | undefined)[]> {
    const tasks = open.map((index) =>
      isFirst ? requests[index]?.cachedTask : undefined
    );
    const missing = open.filter((_, position) => tasks[position] === undefined);
    const byTenant = Map.groupBy(
      missing,
      (index) => requests[index]?.tenantId ?? "",
    );
    const found = new Map<number, Task | undefined>();
    for (const [tenantId, indexes] of byTenant) {
      const ids = indexes.map((index) => requests[index]?.id ?? "");
      const read = await this.#parts.store.tasks(tenantId, ids);
      for (const [position, index] of indexes.entries()) {
        found.set(index, read[position]);
      }
    }
    return open.map((index, position) => tasks[position] ?? found.get(index));
  }

  /**
   * Plans the writes of an event for a task as it was read.
   *
   * @throws {TypeError} when the task's rules cannot be read
   * @throws {Error} when the store fails
   */
  planStrictly(request: EventRequest, task: Task): MaybePromise<Plan> {
    return this.#planner.plan(request, task);
  }

  /**
   * Plans the writes of an event for a task as it was read. A task whose rules
   * cannot be read is refused.
   *
   * @throws {Error} when the store fails
   */
  plan(request: EventRequest, task: Task): MaybePromise<Plan> {
    const passOver = (error: unknown): Plan => {
      const isUnreadable = error instanceof TypeError ||
        error instanceof RangeError;
      if (!isUnreadable) throw error;
      const { id } = task;
      this.#parts.logger.error("Cannot judge task: its rules cannot be read", {
        task: id,
        error: String(error),
      });
      const reason = `Cannot change task "${id}": its rules cannot be read`;
      return {
        settled: { kind: "refused", code: "wrong_state", reason, task },
        writes: [],
        ownWrites: 0,
        made: [],
      };
    };
    try {
      const plan = this.planStrictly(request, task);
      return plan instanceof Promise ? plan.catch(passOver) : plan;
    } catch (error) {
      return passOver(error);
    }
  }

  /**
   * Commits a plan together with other writes, and notifies the listeners.
   *
   * @throws {Error} when the store fails
   */
  async commitPlan(
    plan: Plan,
    others: readonly Write[],
  ): Promise<TransactionResult | undefined> {
    const writes = [...plan.writes, ...others];
    const [result] = await this.#commit([{ writes }]);
    if (result?.kind === "ok") this.announcePlan(plan);
    return result;
  }

  async #commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    const results = await this.#parts.store.commit(transactions);
    this.#noteFullPlans(transactions, results);
    return results;
  }

  /** Has plans counted again that other instances have filled. */
  #noteFullPlans(
    transactions: readonly Transaction[],
    results: readonly TransactionResult[],
  ): void {
    for (const [index, result] of results.entries()) {
      // The next plan refuses what has no room.
      if (result.kind === "ok" || result.reason !== "quota") continue;
      const [first] = transactions[index]?.writes ?? [];
      if (first !== undefined) this.activeTasks.recount(first.tenantId);
    }
  }

  /** Notifies the listeners of a plan whose writes were committed. */
  announcePlan({ settled, made }: Plan): void {
    if (settled.kind === "changed") {
      this.announce(settled.previous, settled.task);
    } else if (settled.kind === "purged") {
      this.announce(settled.previous, undefined);
    }
    for (const task of made) this.announce(undefined, task);
  }
}

/**
 * Whether a plan may fit once it is made again, since another change was written
 * first, or other tasks have taken the room in the tenant's plan.
 */
export function isOvertaken(reason: ConflictReason): boolean {
  return reason === "version" || reason === "quota";
}

function findKinds(
  { previous, next, placement }: TaskChange,
): Readonly<Record<ChangeKind, boolean>> {
  const status = next?.status;
  return {
    changed: previous !== undefined && next !== undefined,
    ready: placement?.rank !== undefined,
    timed: placement?.wakeAtMs !== undefined,
    blocked: status === "blocked",
    stopped: previous?.status === "running" && status !== "running",
    canceled: status === "canceled",
    settled: status === undefined || status === "done" || isFinal(status),
    reopened: previous !== undefined && isFinal(previous.status) &&
      status !== undefined && !isFinal(status),
    internal: next !== undefined &&
      tenantOfInternal(next.tenantId) !== undefined,
  };
}
