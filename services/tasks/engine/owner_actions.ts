/**
 * What owners do to a task that takes more than one event: they change what it is
 * and its status at once, remove it, or try again one whose worker may be gone.
 *
 * @module
 */

import type { FoldDraft, HistoryDraft } from "../domain/history.ts";
import type { Actor, WorkerDefinition } from "../domain/records.ts";
import { rulesOf } from "../domain/rules.ts";
import { isFinal, type Task, type TaskDefinition } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import { transition } from "../domain/transition.ts";
import type { Write } from "../store/store.ts";
import type { Engine } from "./engine.ts";
import type { Plan, Settled } from "./event_plan.ts";
import type { EngineParts } from "./parts.ts";
import { auditWrite } from "./record_writes.ts";
import { removalOf, sealChange, type SealedChange } from "./task_writes.ts";

/** About how many records such a change adds; most add one or two. */
export const PLANNED_RECORDS = 4;

/** Options of {@linkcode planEvents}. */
interface PlanEventsOptions {
  /** The events, in their order. */
  readonly events: readonly TaskEvent[];
  /** What the owner decides from then on. */
  readonly definition: TaskDefinition;
  /** The worker of that definition. */
  readonly worker: WorkerDefinition;
  /** Who causes them. */
  readonly actor: Actor;
  /** How long the tenant's plan keeps a task after its end; null is for ever. */
  readonly retentionMs: number | null;
  /** The record that makes room in a long history, if the plan asks for one. */
  readonly fold?: FoldDraft | undefined;
  /** The engine's parts. */
  readonly parts: EngineParts;
}

/** The outcome of events. */
type PlannedEvents =
  | ({ readonly kind: "changed" } & SealedChange)
  | { readonly kind: "unchanged"; readonly task: Task }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Applies several events one after the other as one change. The first that is
 * refused refuses all; the version goes up by one, however many change the task.
 */
export function planEvents(
  task: Task,
  options: PlanEventsOptions,
): PlannedEvents {
  const { events, definition, worker, actor, retentionMs, fold, parts } =
    options;
  const rules = rulesOf(definition, worker, {
    cache: parts.ruleCache,
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

/** Who removes which task. */
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
    /** Tells the listeners; to be called after the commit. */
    readonly announce: () => void;
  }
  | {
    readonly kind: "refused";
    readonly code: string;
    readonly reason: string;
  };

/**
 * What is to be written to remove a task, with a line in the audit log. One that
 * is live is canceled by the same commit, with all that a cancel entails.
 *
 * @throws {Error} when the store fails
 */
export async function planRemoval(
  { parts, changes }: Engine,
  { task, actor }: RemovalOptions,
): Promise<RemovalPlan> {
  const { tenantId, id } = task;
  const nowMs = parts.clock.nowMs();
  if (isFinal(task.status)) {
    return {
      kind: "planned",
      writes: [removalOf(task), auditOf(task, { actor, nowMs })],
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
      // The task's own write comes first; it goes in the place of the cancel.
      const [, ...others] = plan.writes;
      return {
        kind: "planned",
        writes: [removalOf(task), ...others, auditOf(last, { actor, nowMs })],
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
 * @returns false when it changed meanwhile or is gone
 * @throws {Error} when the store fails, or the task cannot be canceled
 */
export async function removeTask(
  engine: Engine,
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

/** Whether a change makes a task live again that had ended. */
export function isRevival(
  settled: Settled,
): settled is Extract<Settled, { readonly kind: "changed" }> {
  return settled.kind === "changed" && isFinal(settled.previous.status) &&
    !isFinal(settled.task.status);
}

/**
 * What is written with a change of a task: one that makes it live again requires
 * its worker, and conflicts as `missing` where that was removed.
 */
export function requiringWorker(
  { repositories }: Pick<EngineParts, "repositories">,
  settled: Settled,
): readonly Write[] {
  if (!isRevival(settled)) return [];
  const { tenantId, workerId } = settled.task;
  return [repositories.workers.assertExists(tenantId, workerId)];
}

/** Why a task of a removed worker cannot be tried again, for people. */
export function removedWorker({ workerId }: Pick<Task, "workerId">): string {
  return `Cannot retry task: its worker "${workerId}" was removed; ` +
    "give the task another one";
}

function auditOf(
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
