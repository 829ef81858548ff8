/**
 * Makes new tasks.
 *
 * @module
 */

import type { Actor, WorkerDefinition } from "../domain/records.ts";
import {
  type DependencyState,
  judgeDependencies,
} from "../domain/transitions/service_events.ts";
import { newTask } from "../domain/new_task.ts";
import { rulesOf } from "../domain/rules.ts";
import type { Task, TaskDefinition } from "../domain/task.ts";
import type { Transaction, Write } from "../store/store.ts";
import { callbackWrites } from "./callbacks.ts";
import type { ConflictReason, TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";

/** A task to be made; its definition has been checked. */
export interface NewTaskRequest {
  /** The tenant. */
  readonly tenantId: string;
  /** What the owner decides. */
  readonly definition: TaskDefinition;
  /** Its worker, as it was found. */
  readonly worker: WorkerDefinition;
  /** Its date; now when absent. */
  readonly dateMs?: number;
  /** Whether it is made paused. */
  readonly isPaused: boolean;
  /** Who makes it. */
  readonly actor: Actor;
}

/** A task that is ready to be written. */
export interface PreparedTask {
  /** The task as it will be. */
  readonly task: Task;
  /** What the store is to do. */
  readonly writes: readonly Write[];
  /** Tasks that are made with it: the call at its end, if it ends as it is made. */
  readonly made: readonly Task[];
}

/** What a new task depends on beside its request. */
export interface KnownAround {
  /** How long the tenant's plan keeps a task after its end; null is for ever. */
  readonly retentionMs: number | null;
  /** Its dependencies, in the order of the definition. */
  readonly states: readonly DependencyState[];
}

/** What came of writing new tasks. */
export type CreationOutcome =
  | { readonly kind: "created" }
  /** Another live task of the worker has the key; `write` tells whose it was. */
  | {
    readonly kind: "conflict";
    readonly reason: ConflictReason;
    /** The index of the prepared task, or of none when what goes along did not fit. */
    readonly index: number | undefined;
  };

/** Makes tasks. */
export class Creation {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;

  /** Creation over the engine's parts. */
  constructor(parts: EngineParts, changes: TaskChanges) {
    this.#parts = parts;
    this.#changes = changes;
  }

  /** Makes the task with its first record; nothing is written yet. */
  async prepare(request: NewTaskRequest): Promise<PreparedTask> {
    const { tenantId, definition: { dependencies } } = request;
    const { store, limitsOf } = this.#parts;
    const { retentionMs } = await limitsOf(tenantId);
    const states = dependencies.length === 0
      ? []
      : await store.tasks(tenantId, dependencies);
    return this.prepareKnown(request, { retentionMs, states });
  }

  /** As {@linkcode Creation.prepare}, of what was read before. */
  prepareKnown(
    request: NewTaskRequest,
    { retentionMs, states }: KnownAround,
  ): PreparedTask {
    const { tenantId, definition, worker, actor } = request;
    const { clock, repositories, newId, ruleCache, random } = this.#parts;
    const isBlocked = definition.dependencies.length > 0 &&
      judgeDependencies(definition, states).kind !== "ready";
    const { task, history } = newTask(definition, {
      tenantId,
      id: newId("tsk"),
      nowMs: clock.nowMs(),
      ...(request.dateMs === undefined ? {} : { dateMs: request.dateMs }),
      createdBy: actor,
      ...(request.isPaused ? { initialStatus: "paused" as const } : {}),
      isBlocked,
      rules: rulesOf(definition, worker, {
        cache: ruleCache,
        ...(retentionMs === null ? {} : { retentionMs }),
      }),
      random,
    });
    const sealed = this.#parts.sealer.seal(task, {
      drafts: history,
      expectedVersion: 0,
    });
    const calls = callbackWrites(undefined, {
      next: sealed.task,
      parts: this.#parts,
    });
    return {
      task: sealed.task,
      writes: [
        sealed.write,
        repositories.workers.assertExists(tenantId, worker.id),
        ...calls.writes,
      ],
      made: calls.tasks,
    };
  }

  /**
   * Writes prepared tasks, and what goes along with them, together or not at all.
   *
   * @throws {Error} when the store fails
   */
  async write(
    prepared: readonly PreparedTask[],
    along: readonly Write[] = [],
  ): Promise<CreationOutcome> {
    const transaction: Transaction = {
      writes: [...prepared.flatMap(({ writes }) => writes), ...along],
    };
    const [result] = await this.#parts.store.commit([transaction]);
    if (result?.kind === "ok") {
      for (const { task, made } of prepared) {
        for (const each of [task, ...made]) {
          this.#changes.announce(undefined, each);
        }
      }
      return { kind: "created" };
    }
    let before = result?.write ?? 0;
    const index = prepared.findIndex(({ writes }) => {
      before -= writes.length;
      return before < 0;
    });
    return {
      kind: "conflict",
      reason: result?.reason ?? "version",
      index: index === -1 ? undefined : index,
    };
  }
}
