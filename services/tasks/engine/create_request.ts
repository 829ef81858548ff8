/**
 * A request to create a task, why it may be refused, and the task that it makes
 * when no other task has its key.
 *
 * @module
 */

import type { Fault } from "../../shared/schema/fault.ts";
import {
  type DependencyState,
  judgeDependencies,
  type ReferredTask,
} from "../domain/dependency_rules.ts";
import type { FlowItem } from "../domain/flow_order.ts";
import type { KeyRequest } from "../domain/key_policy.ts";
import { newTask } from "../domain/new_task.ts";
import type { Actor, WorkerDefinition } from "../domain/records.ts";
import { resolveRules } from "../domain/rules.ts";
import type { Calendars } from "../domain/schedule.ts";
import type {
  CallWindow,
  Task,
  TaskDefinition,
  TaskStatus,
} from "../domain/task.ts";
import type { EngineParts } from "./parts.ts";
import { sealChange, type SealedChange } from "./task_writes.ts";

/** A task to be created; its definition has been validated. */
interface NewTask {
  /** The fields that the owner of the task decides. */
  readonly definition: TaskDefinition;
  /** The worker of the task, as it was read. */
  readonly worker: WorkerDefinition;
  /**
   * The calendars that its schedule names.
   *
   * @default {none}
   */
  readonly calendars?: Calendars | undefined;
  /**
   * The task's date, in milliseconds since the epoch.
   *
   * @default {now}
   */
  readonly dateMs?: number | undefined;
  /**
   * The window of requests with its key that its first run is for.
   *
   * @default {none}
   */
  readonly calls?: CallWindow | undefined;
  /** Whether it is created paused. */
  readonly isPaused: boolean;
}

/** A request to create a task, whose key a live task may already have. */
export interface CreateRequest extends NewTask, FlowItem, KeyRequest {
  /**
   * The states of its dependencies, in the order of the definition; those in
   * `refs`, which are created with it, have none yet.
   */
  readonly states: readonly (ReferredTask | undefined)[];
  /** The pointer of the task within the request, for faults. */
  readonly at: string;
}

/** Why a task was neither created nor found. */
export type CreateRefusal =
  /** The caller had refused the request already. */
  | { readonly kind: "skipped" }
  | { readonly kind: "invalid"; readonly faults: readonly Fault[] }
  | { readonly kind: "unknown_worker"; readonly worker: WorkerDefinition }
  | {
    readonly kind: "key_conflict";
    readonly reason: string;
    /** After how many milliseconds the key may be free. */
    readonly retryAfterMs: number;
  }
  /** The live task that has the key cannot be replaced. */
  | {
    readonly kind: "wrong_state";
    readonly reason: string;
    readonly status: TaskStatus;
  }
  /** The plan has no room for the task. */
  | {
    readonly kind: "over_quota";
    readonly what: string;
    readonly limit: number;
    readonly used: number;
  }
  /** Other requests change tasks of the same keys too fast. */
  | { readonly kind: "busy" }
  /**
   * Another request with the same `Idempotency-Key` is being answered, or
   * another instance has taken over the same request of the inbox.
   */
  | { readonly kind: "answered_elsewhere" }
  /** The store failed; whether the task was written is unknown. */
  | { readonly kind: "failed"; readonly error: unknown };

/** The outcome of a single request. */
export type CreateResult =
  | {
    /** Whether the task is new, or the live task that already has the key. */
    readonly kind: "created" | "found";
    /** The new task, or the live one that has the key. */
    readonly task: Task;
    /** The request; the task has its data when it was created. */
    readonly request: CreateRequest;
  }
  | CreateRefusal;

/** Tells whether a request was refused. */
export function isRefusal(result: CreateResult): result is CreateRefusal {
  return result.kind !== "created" && result.kind !== "found";
}

/** The keys whose tasks may be replaced by the requests. */
export function replacedKeys(
  requests: readonly (CreateRequest | undefined)[],
  tenantId: string,
): readonly string[] {
  const keys: string[] = [];
  for (const request of requests) {
    if (request === undefined) continue;
    const { onConflict, pacing, definition: { workerId, key } } = request;
    const isAnswered = onConflict === "return" || onConflict === "reject";
    if (key === undefined || isAnswered && pacing === undefined) continue;
    keys.push(`${tenantId}\n${workerId}\n${key}`);
  }
  return keys;
}

/** Who creates a task, and with which parts. */
export interface PrepareOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** The actor that asks. */
  readonly actor: Actor;
  /**
   * How long the tenant's plan keeps a task after its end, in milliseconds;
   * null means forever.
   */
  readonly retentionMs: number | null;
  /** The engine's parts. */
  readonly parts: EngineParts;
}

/** The fault of a task whose dependency of the same batch was refused. */
export function refusedDependency(
  at: string,
  { index, name }: { readonly index: number; readonly name: string },
): Fault {
  return {
    pointer: `${at}/dependencies/${index}`,
    code: "refused_dependency",
    detail: `Cannot depend on "${name}": that task of the batch was refused`,
  };
}

/**
 * Prepares a task with its first record, without writing anything. If the task
 * ends at once and has a callback, the callback's task is prepared, too.
 *
 * @param id the id of the task; a new one by default
 */
export function prepareTask(
  request: NewTask & { readonly states: readonly DependencyState[] },
  { tenantId, actor, retentionMs, parts }: PrepareOptions,
  id: string = parts.newId("tsk"),
): SealedChange {
  const { definition, worker, calendars, states, isPaused } = request;
  const isBlocked = definition.dependencies.length > 0 &&
    judgeDependencies(definition, states).kind !== "ready";
  const rules = resolveRules(definition, worker, {
    cache: parts.ruleCache,
    calendars,
    retentionMs: retentionMs ?? undefined,
  });
  const { task, history } = newTask(definition, {
    tenantId,
    id,
    nowMs: parts.clock.nowMs(),
    dateMs: request.dateMs,
    calls: request.calls,
    createdBy: actor,
    initialStatus: isPaused ? "paused" : undefined,
    isBlocked,
    rules,
    random: parts.random,
  });
  return sealChange(undefined, {
    next: task,
    drafts: history,
    slotsMs: [],
    rules,
    parts,
  });
}
