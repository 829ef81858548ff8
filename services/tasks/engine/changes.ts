/**
 * Lets things happen to tasks: reads, decides, writes, and begins again when
 * somebody else was faster.
 *
 * @module
 */

import type { Actor } from "../domain/actor.ts";
import { rulesOf } from "../domain/rules.ts";
import type { Task, TaskDefinition } from "../domain/task.ts";
import type { TaskEvent, TaskRules } from "../domain/task_event.ts";
import { transition } from "../domain/transition.ts";
import type { Unit, UnitResult, Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";
import { foldFor, mayFold } from "./history_fold.ts";
import { removalOf, sealWrite } from "./sealed_write.ts";
import { spawnedWrites } from "./spawn.ts";
import { callbackWrites } from "./callbacks.ts";

/** How often an event is tried again when the task changes meanwhile. */
const MAX_TRIES = 50;

/** Rules of tasks whose worker was removed; none of them runs any more. */
const ORPHANS = { timeoutMs: 30_000, maxLost: 3 };

/** An event on its way to a task. */
export interface EventRequest {
  /** The tenant. */
  readonly tenantId: string;
  /** The task's id. */
  readonly id: string;
  /** The event, or what decides it from the task; undefined lets it be. */
  readonly event: TaskEvent | ((task: Task) => TaskEvent | undefined);
  /** Who causes it. */
  readonly actor: Actor | ((task: Task) => Actor);
  /**
   * Makes what is written along with it, from the outcome.
   * @default nothing
   */
  readonly along?: (outcome: Settled) => readonly Write[];
  /**
   * The task as somebody knows it, which saves reading it.
   * @default it is read
   */
  readonly known?: Task;
}

/** What came of an event, before it was written. */
export type Settled =
  | { readonly kind: "changed"; readonly previous: Task; readonly task: Task }
  | { readonly kind: "unchanged"; readonly task: Task }
  | { readonly kind: "purged"; readonly previous: Task }
  | {
    readonly kind: "refused";
    readonly code: "wrong_state" | "lease_gone";
    readonly reason: string;
    readonly task: Task;
  };

/** What came of an event. */
export type EventOutcome =
  | Settled
  /** There is no such task. */
  | { readonly kind: "missing" }
  /** What was to be written along did not fit; nothing was written. */
  | { readonly kind: "conflict"; readonly reason: ConflictReason };

/** Why a write did not fit. */
export type ConflictReason = Extract<
  UnitResult,
  { kind: "conflict" }
>["reason"];

/** Hears of a task that changed: `previous` is absent for a new one, `next` for one that is gone. */
export type ChangeListener = (
  previous: Task | undefined,
  next: Task | undefined,
) => void;

/** What is to be written for an event. */
interface Plan {
  readonly settled: Settled;
  readonly writes: readonly Write[];
  /** How many of the writes are the engine's own; the others go along. */
  readonly ownWrites: number;
  /** Tasks that are made by it. */
  readonly made: readonly Task[];
}

/** Applies events to tasks. */
export class TaskChanges {
  readonly #parts: EngineParts;
  readonly #listeners: ChangeListener[] = [];

  /** Changes over the engine's parts. */
  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Adds a listener; it is called after the commit and must not throw. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Tells the listeners of a change that was committed elsewhere. */
  announce(previous: Task | undefined, next: Task | undefined): void {
    for (const listener of this.#listeners) listener(previous, next);
  }

  /** The rules in force for a task, or for what it is about to be. */
  async rules(
    task: TaskDefinition & Pick<Task, "tenantId">,
  ): Promise<TaskRules> {
    const { workers, limitsOf, ruleCache } = this.#parts;
    const [worker, limits] = await Promise.all([
      workers.get(task.tenantId, task.workerId),
      limitsOf(task.tenantId),
    ]);
    return rulesOf(task, worker ?? ORPHANS, {
      cache: ruleCache,
      ...(limits.retentionMs === null
        ? {}
        : { retentionMs: limits.retentionMs }),
    });
  }

  /**
   * Applies one event.
   *
   * @throws {Error} when the store fails, or when the task changes faster than
   * the event can be applied
   */
  async apply(request: EventRequest): Promise<EventOutcome> {
    const [outcome] = await this.applyAll([request]);
    if (outcome === undefined) throw new Error("Cannot apply event: no answer");
    return outcome;
  }

  /**
   * Applies events to different tasks in one commit; each stands for itself.
   *
   * @throws {Error} as {@linkcode apply}
   */
  async applyAll(
    requests: readonly EventRequest[],
  ): Promise<readonly EventOutcome[]> {
    const outcomes = new Array<EventOutcome | undefined>(requests.length);
    let open = requests.map((_, index) => index);
    for (let tries = 0; open.length > 0; tries++) {
      if (tries === MAX_TRIES) {
        throw new Error(
          `Cannot change task: it changed ${MAX_TRIES} times meanwhile`,
        );
      }
      open = await this.#round(requests, {
        open,
        outcomes,
        isFirst: tries === 0,
      });
    }
    return outcomes.map((outcome) => outcome ?? { kind: "missing" });
  }

  /** Tries the open requests once; answers which are still open. */
  async #round(
    requests: readonly EventRequest[],
    round: {
      readonly open: readonly number[];
      readonly outcomes: (EventOutcome | undefined)[];
      readonly isFirst: boolean;
    },
  ): Promise<number[]> {
    const { open, outcomes, isFirst } = round;
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
      const plan = await this.#planAmong(requests, { request, task });
      // What is known may be out of date. A change is found out when it is
      // written; that nothing changes has to be found out by reading.
      if (plan.ownWrites === 0 && isFirst && request.known !== undefined) {
        again.push(index);
      } else if (plan.writes.length === 0) outcomes[index] = plan.settled;
      else planned.push({ index, plan });
    }
    if (planned.length === 0) return again;
    const results = await this.#parts.store.commit(
      planned.map(({ plan }): Unit => ({ writes: plan.writes })),
    );
    for (const [position, { index, plan }] of planned.entries()) {
      const result = results[position];
      if (result?.kind === "ok") {
        outcomes[index] = plan.settled;
        this.#tell(plan);
      } else if (
        result?.reason === "version" && result.write < plan.ownWrites
      ) again.push(index);
      else {
        const reason = result?.reason ?? "version";
        outcomes[index] = { kind: "conflict", reason };
      }
    }
    return again;
  }

  /** Tasks that are known need no reading the first time. */
  async #read(
    requests: readonly EventRequest[],
    { open, isFirst }: {
      readonly open: readonly number[];
      readonly isFirst: boolean;
    },
  ): Promise<readonly (Task | undefined)[]> {
    const tasks = open.map((index) =>
      isFirst ? requests[index]?.known : undefined
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

  /** A task that cannot be judged must not hold up those beside it. */
  async #planAmong(
    requests: readonly EventRequest[],
    { request, task }: { readonly request: EventRequest; readonly task: Task },
  ): Promise<Plan> {
    try {
      return await this.#plan(request, task);
    } catch (error) {
      const isUnreadable = error instanceof TypeError ||
        error instanceof RangeError;
      if (requests.length === 1 || !isUnreadable) throw error;
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
    }
  }

  async #plan(request: EventRequest, task: Task): Promise<Plan> {
    const event = typeof request.event === "function"
      ? request.event(task)
      : request.event;
    const settle = (settled: Settled, writes: readonly Write[] = []): Plan => ({
      settled,
      writes: [...writes, ...request.along?.(settled) ?? []],
      ownWrites: writes.length,
      made: [],
    });
    if (event === undefined) return settle({ kind: "unchanged", task });
    const { clock, random } = this.#parts;
    const rules = await this.rules(
      event.kind === "update"
        ? { ...event.definition, tenantId: task.tenantId }
        : task,
    );
    const result = transition(task, event, {
      nowMs: clock.nowMs(),
      actor: typeof request.actor === "function"
        ? request.actor(task)
        : request.actor,
      rules,
      random,
    });
    switch (result.kind) {
      case "unchanged":
        return settle({ kind: "unchanged", task });
      case "refused": {
        const { code, reason } = result;
        return settle({ kind: "refused", code, reason, task });
      }
      case "purge":
        return settle({ kind: "purged", previous: task }, [removalOf(task)]);
      case "changed": {
        const sealed = sealWrite(result.next, {
          drafts: result.history,
          expectedVersion: task.version,
          fold: mayFold(task, result.history.length)
            ? await foldFor(task, {
              added: result.history.length,
              parts: this.#parts,
            })
            : undefined,
        });
        const spawned = spawnedWrites(sealed.task, {
          slotsMs: result.spawnSlotsMs,
          rules,
          parts: this.#parts,
        });
        const calls = callbackWrites(task, {
          next: sealed.task,
          parts: this.#parts,
        });
        const plan = settle(
          { kind: "changed", previous: task, task: sealed.task },
          [sealed.write, ...spawned.writes, ...calls.writes],
        );
        return { ...plan, made: [...spawned.tasks, ...calls.tasks] };
      }
    }
  }

  #tell({ settled, made }: Plan): void {
    if (settled.kind === "changed") {
      this.announce(settled.previous, settled.task);
    } else if (settled.kind === "purged") {
      this.announce(settled.previous, undefined);
    }
    for (const task of made) this.announce(undefined, task);
  }
}
