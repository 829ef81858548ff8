/**
 * Reserves keys for tasks that are about to be created. A reservation holds a
 * new task, the live task that already has the key, or that task with new
 * values.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { Fault } from "../../shared/schema/fault.ts";
import type { Pausing } from "../../shared/slices.ts";
import {
  dependencyRefusal,
  type DependencyState,
  judgeDependencies,
  type ReferredTask,
  reportCircles,
} from "../domain/dependency_rules.ts";
import type { FoldDraft } from "../domain/history.ts";
import { newTask } from "../domain/new_task.ts";
import type { Actor, WorkerDefinition } from "../domain/records.ts";
import { rulesOf } from "../domain/rules.ts";
import type { Calendars } from "../domain/schedule.ts";
import type { Task, TaskDefinition, TaskStatus } from "../domain/task.ts";
import { definitionChanges } from "../domain/task_definition.ts";
import type { Write } from "../store/store.ts";
import { sealChange, type SealedChange } from "./task_writes.ts";
import { foldFor } from "./event_plan.ts";
import type { EngineParts } from "./parts.ts";
import { planEvents, PLANNED_RECORDS } from "./owner_actions.ts";

/** A task to be created; its definition has been validated. */
interface NewTask {
  /** The fields that the owner of the task decides. */
  readonly definition: TaskDefinition;
  /** The worker of the task, as it was read. */
  readonly worker: WorkerDefinition;
  /**
   * The calendars that its schedule names.
   *
   * @default none
   */
  readonly calendars?: Calendars | undefined;
  /**
   * The task's date, in milliseconds since the epoch; the present when absent.
   */
  readonly dateMs?: number | undefined;
  /** Whether it is created paused. */
  readonly isPaused: boolean;
}

/** A request to create a task, whose key a live task may already have. */
export interface CreateRequest extends NewTask {
  /**
   * What happens when a live task has the key: "return" answers with that task,
   * "reject" refuses the request, "replace" gives that task the new values, and
   * "keep_date" does so without moving its date.
   */
  readonly onConflict: "return" | "reject" | "replace" | "keep_date";
  /** The states of its dependencies, in the order of the definition. */
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
  | { readonly kind: "key_conflict"; readonly reason: string }
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
  /** Another request with the same `Idempotency-Key` is being answered. */
  | { readonly kind: "answered_elsewhere" }
  /** The store failed; whether the task was written is unknown. */
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * The task that a request leads to. Several requests with the same key share
 * one.
 */
export interface Reservation {
  /** The live task that had the key before. */
  readonly previous: Task | undefined;
  /** The record that folds the history of `previous`, if the plan limits it. */
  readonly fold: FoldDraft | undefined;
  /** The task after the writes. */
  task: Task;
  /** The writes that create or change the task. */
  writes: readonly Write[];
  /**
   * Tasks that are created with it, such as a callback when the task ends at
   * once.
   */
  made: readonly Task[];
  /** The request whose values the task has. */
  request: CreateRequest;
  /** The date that `previous` is moved to; it keeps its date when absent. */
  dateMs: number | undefined;
}

/** The outcome of a single request. */
export type Placement =
  | {
    readonly kind: "reserved";
    readonly reservation: Reservation;
    /** Whether the request was the first one of a new task. */
    readonly isNew: boolean;
  }
  | CreateRefusal;

/** Options of {@linkcode KeyReservations}. */
interface KeyReservationsOptions {
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

/** The reservations of tasks that are written together, one for each key. */
export class KeyReservations {
  readonly #options: KeyReservationsOptions;
  readonly #byKey = new Map<string, Reservation>();

  /** Starts without reservations. */
  constructor(options: KeyReservationsOptions) {
    this.#options = options;
  }

  /**
   * Finds the live tasks that have the keys of the requests; has to be called
   * before {@linkcode place}. It pauses in between, since a store may answer
   * each of many reads synchronously.
   */
  async lookUp(
    requests: readonly CreateRequest[],
    pausing: Pausing,
  ): Promise<void> {
    const { parts, tenantId } = this.#options;
    for (const request of requests) {
      const { key, workerId } = request.definition;
      const name = keyNameOf(request);
      if (key === undefined || name === undefined) continue;
      if (this.#byKey.has(name)) continue;
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
      const task = await parts.store.taskByKey({ tenantId, workerId, key });
      if (task === undefined) continue;
      this.#byKey.set(name, {
        previous: task,
        fold: await foldFor(task, { added: PLANNED_RECORDS, parts }),
        task,
        writes: [],
        made: [],
        request,
        dateMs: undefined,
      });
    }
  }

  /** Returns the reservation for a request: that of its key, or a new one. */
  place(request: CreateRequest): Placement {
    const name = keyNameOf(request);
    const reservation = name === undefined ? undefined : this.#byKey.get(name);
    if (reservation === undefined) {
      const reservation: Reservation = {
        previous: undefined,
        fold: undefined,
        ...prepareTask(request, this.#options),
        request,
        dateMs: undefined,
      };
      if (name !== undefined) this.#byKey.set(name, reservation);
      return { kind: "reserved", reservation, isNew: true };
    }
    switch (request.onConflict) {
      case "return":
        return { kind: "reserved", reservation, isNew: false };
      case "reject":
        return conflict(request, "a live one has the key");
      case "replace":
      case "keep_date": {
        const refusal = reservation.previous === undefined
          ? this.#replaceNew(reservation, request)
          : this.#replaceLive(reservation, {
            previous: reservation.previous,
            request,
          });
        return refusal ?? { kind: "reserved", reservation, isNew: false };
      }
    }
  }

  /**
   * Replaces the values of a task that another request of the same batch
   * creates.
   */
  #replaceNew(reservation: Reservation, request: CreateRequest): undefined {
    const { isPaused, dateMs } = reservation.request;
    const next: CreateRequest = {
      ...request,
      isPaused,
      dateMs: request.onConflict === "keep_date" ? dateMs : request.dateMs,
    };
    Object.assign(reservation, prepareTask(next, this.#options), {
      request: next,
    });
  }

  #replaceLive(
    reservation: Reservation,
    { previous, request }: {
      readonly previous: Task;
      readonly request: CreateRequest;
    },
  ): CreateRefusal | undefined {
    const { parts, actor, retentionMs } = this.#options;
    const { definition, worker, calendars, states, at, onConflict } = request;
    // A running attempt would never see the new values.
    if (previous.status === "running") {
      return conflict(request, "the one that has the key is running");
    }
    const faults: Fault[] = [];
    reportCircles(previous, states, { at, faults });
    if (faults.length > 0) return { kind: "invalid", faults };
    const reason = dependencyRefusal(previous, definition, states);
    if (reason !== undefined) return wrongState(reason, previous);
    const dateMs = onConflict === "keep_date"
      ? reservation.dateMs
      : request.dateMs ?? parts.clock.nowMs();
    const planned = planEvents(previous, {
      events: [{
        kind: "update",
        definition,
        changes: definitionChanges(previous, definition, {
          from: worker.name,
          to: worker.name,
        }),
        dateMs,
      }],
      definition,
      worker,
      calendars,
      actor,
      retentionMs,
      fold: reservation.fold,
      parts,
    });
    if (planned.kind === "refused") return wrongState(planned.reason, previous);
    const isChanged = planned.kind === "changed";
    reservation.task = planned.task;
    reservation.writes = isChanged ? planned.writes : [];
    reservation.made = isChanged ? planned.made : [];
    reservation.request = request;
    reservation.dateMs = dateMs;
    return undefined;
  }
}

/**
 * Prepares a task with its first record, without writing anything. If the task
 * ends at once and has a callback, the callback's task is prepared, too.
 */
export function prepareTask(
  request: NewTask & { readonly states: readonly DependencyState[] },
  { tenantId, actor, retentionMs, parts }: Pick<
    KeyReservationsOptions,
    "tenantId" | "actor" | "retentionMs" | "parts"
  >,
): SealedChange {
  const { definition, worker, calendars, states, dateMs, isPaused } = request;
  const isBlocked = definition.dependencies.length > 0 &&
    judgeDependencies(definition, states).kind !== "ready";
  const rules = rulesOf(definition, worker, {
    cache: parts.ruleCache,
    calendars,
    retentionMs: retentionMs ?? undefined,
  });
  const { task, history } = newTask(definition, {
    tenantId,
    id: parts.newId("tsk"),
    nowMs: parts.clock.nowMs(),
    dateMs,
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

function keyNameOf({ definition }: CreateRequest): string | undefined {
  const { key, workerId } = definition;
  return key === undefined ? undefined : `${workerId}\n${key}`;
}

function conflict(
  { definition: { key = "" } }: CreateRequest,
  state: string,
): CreateRefusal {
  const quoted = quote(key, { maxChars: 64 });
  const reason = `Cannot create task with key ${quoted}: ${state}`;
  return { kind: "key_conflict", reason };
}

function wrongState(reason: string, { status }: Task): CreateRefusal {
  return { kind: "wrong_state", reason, status };
}
