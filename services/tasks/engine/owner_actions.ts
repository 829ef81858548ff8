/**
 * Owners' actions on a task that take more than one event: changing its
 * definition and its status at once, removing it, or retrying a task whose
 * worker may be removed.
 *
 * @module
 */

import type { FoldDraft, HistoryDraft } from "../domain/history.ts";
import type { Actor, WorkerDefinition } from "../domain/records.ts";
import { resolveRules } from "../domain/rules.ts";
import type { Calendars } from "../domain/schedule.ts";
import { isFinal, type Task, type TaskDefinition } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import { transition } from "../domain/transition.ts";
import type { Write } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";
import type { Plan, Settled } from "./event_plan.ts";
import type { EngineParts } from "./parts.ts";
import { auditWrite } from "./record_writes.ts";
import { buildRemoval, sealChange, type SealedChange } from "./task_writes.ts";

/** About how many history records such a change adds; most add one or two. */
export const PLANNED_RECORDS = 4;

/** Options of {@linkcode planEvents}. */
interface PlanEventsOptions {
  /** The events, in their order. */
  readonly events: readonly TaskEvent[];
  /** The definition of the task after the change. */
  readonly definition: TaskDefinition;
  /** The worker of that definition. */
  readonly worker: WorkerDefinition;
  /**
   * The calendars that the definition names.
   *
   * @default none
   */
  readonly calendars?: Calendars | undefined;
  /** Who causes them. */
  readonly actor: Actor;
  /**
   * How long the tenant's plan keeps a task after its end, in milliseconds;
   * null means forever.
   */
  readonly retentionMs: number | null;
  /** The record that folds a long history, if the plan limits it. */
  readonly fold?: FoldDraft | undefined;
  /** The engine's parts. */
  readonly parts: EngineParts;
}

/** The outcome of {@linkcode planEvents}. */
type PlannedEvents =
  | ({ readonly kind: "changed" } & SealedChange)
  | { readonly kind: "unchanged"; readonly task: Task }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Applies several events one after the other as a single change. If one event
 * is refused, the whole change is. The version goes up by one, however many
 * events change the task.
 */
export function planEvents(
  task: Task,
  options: PlanEventsOptions,
): PlannedEvents {
  const { events, definition, worker, actor, retentionMs, fold, parts } =
    options;
  const rules = resolveRules(definition, worker, {
    cache: parts.ruleCache,
    calendars: options.calendars,
    retentionMs: retentionMs ?? undefined,
  });
  const { random } = parts;
  const context = { nowMs: parts.clock.nowMs(), actor, rules, random };
  const drafts: HistoryDraft[] = [];
  const slotsMs: number[] = [];
  let next = task;
  for (const event of events) {
    const result = transition(next, event, context);
    if (result.kind === "refused") {
      return { kind: "refused", reason: result.reason };
    }
    if (result.kind !== "changed") continue;
    next = result.next;
    drafts.push(...result.history);
    slotsMs.push(...result.spawnSlotsMs);
  }
  if (next === task) return { kind: "unchanged", task };
  const change = sealChange(task, {
    next: { ...next, version: task.version + 1 },
    drafts,
    fold,
    slotsMs,
    rules,
    parts,
  });
  return { kind: "changed", ...change };
}

/** The components of the engine that remove tasks. */
interface Remover {
  /** The parts that all components share. */
  readonly parts: EngineParts;
  /** Applies events to tasks. */
  readonly changes: TaskChanges;
}

/** The task to remove, and who removes it. */
interface RemovalOptions {
  /** The task as it was read. */
  readonly task: Task;
  /** Who removes it. */
  readonly actor: Actor;
}

/** The outcome of planning a removal. */
type RemovalPlan =
  | {
    readonly kind: "planned";
    /** The writes, to be committed together. */
    readonly writes: readonly Write[];
    /** Notifies the listeners; has to be called after the commit. */
    readonly announce: () => void;
  }
  | {
    readonly kind: "refused";
    readonly code: string;
    readonly reason: string;
  };

/**
 * Plans the writes that remove a task, with an entry in the audit log. A live
 * task is canceled in the same commit, with all that a cancel entails.
 *
 * @throws {Error} when the store fails
 */
export async function planRemoval(
  { parts, changes }: Remover,
  { task, actor }: RemovalOptions,
): Promise<RemovalPlan> {
  const { tenantId, id } = task;
  const nowMs = parts.clock.nowMs();
  if (isFinal(task.status)) {
    return {
      kind: "planned",
      writes: [buildRemoval(task), buildAuditWrite(task, { actor, nowMs })],
      announce: () => changes.announce(task, undefined),
    };
  }
  const plan: Plan = await changes.plan({
    tenantId,
    id,
    event: { kind: "cancel", reason: "it is removed" },
    actor,
  }, task);
  plan.releaseRoom?.();
  const { settled } = plan;
  switch (settled.kind) {
    case "refused":
      return settled;
    case "unchanged":
      throw new TypeError(`Cannot remove task "${id}": a live one stays as is`);
    case "changed":
    case "purged": {
      const last = settled.kind === "changed" ? settled.task : task;
      // One write changes the task itself; the removal replaces it.
      const others = plan.writes.filter((write) =>
        write.kind !== "task" || write.id !== id
      );
      return {
        kind: "planned",
        writes: [
          buildRemoval(task),
          ...others,
          buildAuditWrite(last, { actor, nowMs }),
        ],
        announce: () => {
          changes.announcePlan(plan);
          if (settled.kind === "changed") changes.announce(last, undefined);
        },
      };
    }
  }
}

/**
 * Removes a task.
 *
 * @returns false when the task changed meanwhile or is gone
 * @throws {Error} when the store fails, or the task cannot be canceled
 */
export async function removeTask(
  engine: Remover,
  options: RemovalOptions,
): Promise<boolean> {
  const plan = await planRemoval(engine, options);
  if (plan.kind === "refused") throw new Error(plan.reason);
  const { store } = engine.parts;
  const [result] = await store.commit([{ writes: plan.writes }]);
  if (result?.kind !== "ok") return false;
  plan.announce();
  return true;
}

/** Tells whether a change makes a task live again that had ended. */
export function isRevival(
  settled: Settled,
): settled is Extract<Settled, { readonly kind: "changed" }> {
  return settled.kind === "changed" && isFinal(settled.previous.status) &&
    !isFinal(settled.task.status);
}

/**
 * The writes that a change of a task needs besides its own: when it makes the
 * task live again, it requires the worker, and conflicts as `missing` if the
 * worker was removed.
 */
export function requiringWorker(
  { repositories }: Pick<EngineParts, "repositories">,
  settled: Settled,
): readonly Write[] {
  if (!isRevival(settled)) return [];
  const { tenantId, workerId } = settled.task;
  return [repositories.workers.assertExists(tenantId, workerId)];
}

/** Explains to people why a task of a removed worker cannot be tried again. */
export function removedWorker({ workerId }: Pick<Task, "workerId">): string {
  return `Cannot retry task: its worker "${workerId}" was removed; ` +
    "give the task another one";
}

function buildAuditWrite(
  task: Task,
  { actor, nowMs }: { readonly actor: Actor; readonly nowMs: number },
): Write {
  const { tenantId, id, workerId, job, status, run, executions } = task;
  return auditWrite(tenantId, {
    atMs: nowMs,
    action: "task.removed",
    actor,
    target: id,
    detail: { worker_id: workerId, job, status, run, executions },
  });
}
