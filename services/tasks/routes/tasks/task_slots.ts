/**
 * What becomes of tasks that are to be made, with regard to their keys: a new
 * task, the live one that has the key already, or that one with new values.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import type { Actor } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { FoldDraft } from "../../domain/history.ts";
import { foldFor } from "../../engine/history_fold.ts";
import type { EngineParts } from "../../engine/parts.ts";
import type { Creation } from "../../engine/creation.ts";
import type { Write } from "../../store/store.ts";
import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import { definitionChanges } from "./definition_changes.ts";
import {
  dependencyRefusal,
  type JudgedTask,
  reportCircles,
} from "./validate_task.ts";
import { planEvents, PLANNED_RECORDS } from "../../engine/plan_events.ts";
import { wrongState } from "./task_answer.ts";

/** A task as it will be, which one or, by its key, several requests come to. */
export interface TaskSlot {
  /** The task that was there before. */
  readonly previous?: Task;
  /** The record that makes room in its history, if that is called for. */
  readonly fold?: FoldDraft | undefined;
  /** The task as it will be. */
  readonly task: Task;
  /** What makes it so. */
  readonly writes: readonly Write[];
  /** Tasks that are made by the way. */
  readonly made: readonly Task[];
  /** What was asked for. */
  readonly judged: JudgedTask;
  /**
   * The date that the task that was there before is moved to.
   * @default it keeps its date
   */
  readonly dateMs?: number | undefined;
}

/** What one request comes to: the place of its slot, or why there is none. */
export type Placed =
  | { readonly kind: "slot"; readonly index: number; readonly isNew: boolean }
  | ProblemAnswer;

/** What slots are made with. */
export interface TaskSlotsOptions {
  /** The tenant. */
  readonly tenantId: string;
  /** Who asks. */
  readonly actor: Actor;
  /** How long the tenant's plan keeps a task after its end; null is for ever. */
  readonly retentionMs: number | null;
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Makes tasks. */
  readonly creation: Creation;
}

/** Gathers slots that are written together. */
export class TaskSlots {
  /** The slots so far. */
  readonly slots: TaskSlot[] = [];
  readonly #options: TaskSlotsOptions;
  /** Slots by worker and key. */
  readonly #byKey = new Map<string, number>();

  /** No slots yet. */
  constructor(options: TaskSlotsOptions) {
    this.#options = options;
  }

  /** Looks for the live tasks that have the keys; to be called before placing. */
  async lookUp(judged: readonly JudgedTask[]): Promise<void> {
    const { parts, tenantId } = this.#options;
    for (const one of judged) {
      const name = keyNameOf(one);
      const { definition: { key, workerId } } = one;
      if (name === undefined || key === undefined) continue;
      if (this.#byKey.has(name)) continue;
      const task = await parts.store.taskByKey({ tenantId, workerId, key });
      if (task === undefined) continue;
      this.#byKey.set(name, this.slots.length);
      this.slots.push({
        previous: task,
        fold: await foldFor(task, { added: PLANNED_RECORDS, parts }),
        task,
        writes: [],
        made: [],
        judged: one,
      });
    }
  }

  /** Finds the slot of a request, or makes a new one. */
  place(judged: JudgedTask): Placed {
    const name = keyNameOf(judged);
    const index = name === undefined ? undefined : this.#byKey.get(name);
    const slot = index === undefined ? undefined : this.slots[index];
    if (index === undefined || slot === undefined) {
      const made = this.slots.length;
      this.slots.push(this.#new(judged));
      if (name !== undefined) this.#byKey.set(name, made);
      return { kind: "slot", index: made, isNew: true };
    }
    switch (judged.onConflict) {
      case "return":
        return { kind: "slot", index, isNew: false };
      case "reject":
        return conflict(judged, "a live one has the key");
      case "replace":
      case "keep_date":
        return this.#replace(slot, { index, judged });
    }
  }

  #new(judged: JudgedTask): TaskSlot {
    const { tenantId, actor, retentionMs, creation } = this.#options;
    const { definition, worker, dateMs, isPaused, states } = judged;
    const { task, writes, made } = creation.prepareKnown({
      tenantId,
      definition,
      worker,
      ...(dateMs === undefined ? {} : { dateMs }),
      isPaused,
      actor,
    }, { retentionMs, states });
    return { task, writes, made, judged };
  }

  #replace(
    slot: TaskSlot,
    { index, judged }: { readonly index: number; readonly judged: JudgedTask },
  ): Placed {
    const keepsDate = judged.onConflict === "keep_date";
    if (slot.previous === undefined) {
      const { dateMs: _dateMs, ...dateless } = judged;
      const { dateMs } = keepsDate ? slot.judged : judged;
      this.slots[index] = this.#new({
        ...dateless,
        isPaused: slot.judged.isPaused,
        ...(dateMs === undefined ? {} : { dateMs }),
      });
      return { kind: "slot", index, isNew: false };
    }
    const dateMs = keepsDate
      ? slot.dateMs
      : judged.dateMs ?? this.#options.parts.clock.nowMs();
    const { fold } = slot;
    return this.#replaceLive(slot.previous, { index, judged, dateMs, fold });
  }

  #replaceLive(
    previous: Task,
    { index, judged, dateMs, fold }: {
      readonly index: number;
      readonly judged: JudgedTask;
      readonly dateMs: number | undefined;
      readonly fold: FoldDraft | undefined;
    },
  ): Placed {
    const { parts, actor, retentionMs } = this.#options;
    const { definition, worker } = judged;
    // New values of a running task would never be run with.
    if (previous.status === "running") {
      return conflict(judged, "the one that has the key is running");
    }
    const faults: Fault[] = [];
    reportCircles(previous, judged.states, { at: judged.at, faults });
    if (faults.length > 0) return invalidRequest(faults);
    const refusal = dependencyRefusal(previous, judged);
    if (refusal !== undefined) return wrongState(refusal, previous);
    const planned = planEvents(previous, {
      events: [{
        kind: "update",
        definition,
        changes: definitionChanges(previous, {
          next: definition,
          workerNames: { from: worker.name, to: worker.name },
        }),
        ...(dateMs === undefined ? {} : { dateMs }),
      }],
      definition,
      worker,
      actor,
      retentionMs,
      fold,
      parts,
    });
    if (planned.kind === "refused") {
      return wrongState(planned.reason, previous);
    }
    this.slots[index] = {
      previous,
      fold,
      task: planned.task,
      writes: planned.kind === "changed" ? planned.writes : [],
      made: planned.kind === "changed" ? planned.made : [],
      judged,
      dateMs,
    };
    return { kind: "slot", index, isNew: false };
  }
}

function keyNameOf({ definition }: JudgedTask): string | undefined {
  const { key, workerId } = definition;
  return key === undefined ? undefined : `${workerId}\n${key}`;
}

function conflict(judged: JudgedTask, state: string): ProblemAnswer {
  const key = quote(judged.definition.key ?? "", { maxChars: 64 });
  return problem("key_conflict", {
    detail: `Cannot create task with key ${key}: ${state}`,
  });
}
