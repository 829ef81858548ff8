/**
 * Several events of a task as one change: what they make of it, and all that
 * has to be written for that together.
 *
 * @module
 */

import type { Actor, WorkerDefinition } from "../domain/records.ts";
import type { FoldDraft, HistoryDraft } from "../domain/history.ts";
import { rulesOf } from "../domain/rules.ts";
import type { Task, TaskDefinition } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import { transition } from "../domain/transition.ts";
import { callbackWrites, spawnedWrites } from "./spawn.ts";
import type { EngineParts } from "./parts.ts";
import type { Write } from "../store/store.ts";

/** About how many records such a change adds; most add one or two. */
export const PLANNED_RECORDS = 4;

/** What the events happen in. */
export interface PlanEventsOptions {
  /** The events, in their order. */
  readonly events: readonly TaskEvent[];
  /** What the owner decides from now on. */
  readonly definition: TaskDefinition;
  /** The worker of that definition. */
  readonly worker: WorkerDefinition;
  /** Who causes them. */
  readonly actor: Actor;
  /** How long the tenant's plan keeps a task after its end; null is for ever. */
  readonly retentionMs: number | null;
  /** The record that makes room in a long history, if that is called for. */
  readonly fold?: FoldDraft | undefined;
  /** The engine's parts. */
  readonly parts: EngineParts;
}

/** What comes of the events. */
export type PlannedEvents =
  | {
    readonly kind: "changed";
    /** The task as it will be. */
    readonly task: Task;
    /** What the store is to do. */
    readonly writes: readonly Write[];
    /** Tasks that are made by the way. */
    readonly made: readonly Task[];
  }
  | { readonly kind: "unchanged"; readonly task: Task }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Lets the events happen one after the other. The first that is refused refuses
 * all; the task's version is one more, however many change it.
 */
export function planEvents(
  task: Task,
  options: PlanEventsOptions,
): PlannedEvents {
  const { events, definition, worker, actor, retentionMs, fold, parts } =
    options;
  const rules = rulesOf(definition, worker, {
    cache: parts.ruleCache,
    ...(retentionMs === null ? {} : { retentionMs }),
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
  const sealed = parts.sealer.seal({ ...next, version: task.version + 1 }, {
    drafts,
    expectedVersion: task.version,
    fold,
  });
  const spawned = spawnedWrites(sealed.task, { slotsMs, rules, parts });
  const calls = callbackWrites(task, { next: sealed.task, parts });
  return {
    kind: "changed",
    task: sealed.task,
    writes: [sealed.write, ...spawned.writes, ...calls.writes],
    made: [...spawned.tasks, ...calls.tasks],
  };
}
