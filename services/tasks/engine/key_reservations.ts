/**
 * Reserves keys for tasks that are about to be created. A reservation holds a
 * new task, the live task that already has the key, or that task with new
 * values.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { type Fault, report } from "../../shared/schema/fault.ts";
import type { Pausing } from "../../shared/slices.ts";
import {
  dependencyRefusal,
  type ReferredTask,
  reportCircles,
} from "../domain/dependency_rules.ts";
import type { FoldDraft } from "../domain/history.ts";
import { decideByKey, type KeyDecision } from "../domain/key_policy.ts";
import type { Task } from "../domain/task.ts";
import { definitionChanges } from "../domain/task_definition.ts";
import type { EventOf } from "../domain/task_event.ts";
import type { TaskKey, TaskPosition } from "../store/queries.ts";
import type { Write } from "../store/store.ts";
import {
  type CreateRefusal,
  type CreateRequest,
  type PrepareOptions,
  prepareTask,
  refusedDependency,
} from "./create_request.ts";
import { foldFor } from "./event_plan.ts";
import { planEvents, PLANNED_RECORDS } from "./owner_actions.ts";
import type { EngineParts } from "./parts.ts";

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
  /**
   * The event by which an earlier request has begun a new run in place of one
   * that waited to be retried; it stays the first event of the change.
   */
  opening: EventOf<"run_after"> | undefined;
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

/** The reservations of tasks that are written together, one for each key. */
export class KeyReservations {
  readonly #options: PrepareOptions;
  readonly #byKey = new Map<string, Reservation>();
  readonly #byRef = new Map<string, Reservation>();
  /** The last task that had a key and has ended, where that decides. */
  readonly #ended = new Map<string, Task>();

  /** Starts without reservations. */
  constructor(options: PrepareOptions) {
    this.#options = options;
  }

  /**
   * Finds the live tasks that have the keys of the requests; has to be called
   * before {@linkcode place}. It pauses in between, since a store may answer
   * each of many reads synchronously.
   */
  async lookUp(
    requests: readonly (CreateRequest | undefined)[],
    pausing: Pausing,
  ): Promise<void> {
    const { parts, tenantId } = this.#options;
    for (const request of requests) {
      if (request === undefined) continue;
      const { key, workerId } = request.definition;
      const name = formatKeyName(request);
      if (key === undefined || name === undefined) continue;
      if (this.#byKey.has(name)) continue;
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
      const task = await parts.store.taskByKey({ tenantId, workerId, key });
      if (task === undefined) {
        if (request.pacing?.kind !== "throttle") continue;
        const ended = await lastWithKey(parts, { tenantId, workerId, key });
        if (ended !== undefined) this.#ended.set(name, ended);
        continue;
      }
      this.#byKey.set(name, {
        previous: task,
        fold: await foldFor(task, { added: PLANNED_RECORDS, parts }),
        task,
        writes: [],
        made: [],
        request,
        dateMs: undefined,
        opening: undefined,
      });
    }
  }

  /**
   * Returns the reservation for a request: that of its key, or a new one. The
   * requests that it names as dependencies have to be placed before.
   */
  place(request: CreateRequest): Placement {
    const faults: Fault[] = [];
    const placement = this.#place(
      request.refs === undefined ? request : this.#resolved(request, faults),
    );
    if (faults.length > 0) return { kind: "invalid", faults };
    if (request.ref !== undefined && placement.kind === "reserved") {
      this.#byRef.set(request.ref, placement.reservation);
    }
    return placement;
  }

  #place(request: CreateRequest): Placement {
    const name = formatKeyName(request);
    const reservation = this.#byKey.get(name ?? "");
    const decision = name === undefined
      ? { kind: "create", dateMs: request.dateMs } as const
      : decideByKey(reservation?.task ?? this.#ended.get(name), {
        request,
        repeats: request.definition.repeat !== undefined,
        nowMs: this.#options.parts.clock.nowMs(),
      });
    if (decision.kind === "conflict") {
      return this.#conflict(request, reservation?.task, decision.reason);
    }
    if (reservation === undefined) {
      const { dateMs, calls } = decision.kind === "create" ? decision : {};
      const reservation: Reservation = {
        previous: undefined,
        fold: undefined,
        ...prepareTask({ ...request, dateMs, calls }, this.#options),
        request,
        dateMs,
        opening: undefined,
      };
      if (name !== undefined) this.#byKey.set(name, reservation);
      return { kind: "reserved", reservation, isNew: true };
    }
    const refusal = decision.kind === "return"
      ? undefined
      : reservation.previous === undefined
      ? this.#replaceNew(reservation, { request, decision })
      : this.#replaceLive(reservation, {
        previous: reservation.previous,
        request,
        decision,
      });
    return refusal ?? { kind: "reserved", reservation, isNew: false };
  }

  /**
   * The request with the ids of the tasks that it names. Reports names of tasks
   * that were refused.
   */
  #resolved(request: CreateRequest, faults: Fault[]): CreateRequest {
    const { definition, refs, states, at } = request;
    const tasks = new Map<string, ReferredTask | undefined>();
    for (const [index, name] of definition.dependencies.entries()) {
      if (!refs?.has(name)) tasks.set(name, states[index]);
      else {
        const task = this.#byRef.get(name)?.task;
        if (task !== undefined) tasks.set(task.id, task);
        else report(faults, refusedDependency(at, { index, name }));
      }
    }
    const dependencies = [...tasks.keys()];
    return {
      ...request,
      definition: { ...definition, dependencies },
      states: [...tasks.values()],
    };
  }

  #conflict(
    { definition: { key = "" } }: CreateRequest,
    holder: Task | undefined,
    state: string,
  ): CreateRefusal {
    const quoted = quote(key, { maxChars: 64 });
    return {
      kind: "key_conflict",
      reason: `Cannot create task with key ${quoted}: ${state}`,
      retryAfterMs: keyRetryMs(holder, this.#options.parts.clock.nowMs()),
    };
  }

  /**
   * Replaces the values of a task that another request of the same batch
   * creates.
   */
  #replaceNew(
    reservation: Reservation,
    { request, decision }: {
      readonly request: CreateRequest;
      readonly decision: ChangingDecision;
    },
  ): CreateRefusal | undefined {
    const { states, at } = request;
    const faults: Fault[] = [];
    reportCircles(reservation.task, states, { at, faults });
    if (faults.length > 0) return { kind: "invalid", faults };
    const { task: { id, calls }, dateMs } = reservation;
    const next: CreateRequest = {
      ...request,
      isPaused: reservation.request.isPaused,
      dateMs: decision.dateMs ?? dateMs,
      calls: decision.calls ?? calls,
    };
    Object.assign(reservation, prepareTask(next, this.#options, id), {
      request: next,
      dateMs: next.dateMs,
    });
    return undefined;
  }

  #replaceLive(
    reservation: Reservation,
    { previous, request, decision }: {
      readonly previous: Task;
      readonly request: CreateRequest;
      readonly decision: ChangingDecision;
    },
  ): CreateRefusal | undefined {
    const { parts, actor, retentionMs } = this.#options;
    const { definition, worker, calendars, states, at } = request;
    const faults: Fault[] = [];
    reportCircles(previous, states, { at, faults });
    if (faults.length > 0) return { kind: "invalid", faults };
    const reason = dependencyRefusal(previous, definition, states);
    if (reason !== undefined) return wrongState(reason, previous);
    const { opening } = reservation;
    const base = opening?.definition ?? previous;
    const names = { from: worker.name, to: worker.name };
    const changes = definitionChanges(base, definition, names);
    const dateMs = decision.dateMs ?? reservation.dateMs;
    const { calls } = decision;
    const event = decision.kind === "run_after"
      ? {
        kind: decision.kind,
        definition,
        changes,
        next: { dateMs: decision.dateMs, calls },
      }
      : { kind: "update" as const, definition, changes, dateMs, calls };
    const planned = planEvents(previous, {
      events: opening === undefined ? [event] : [opening, event],
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
    if (event.kind === "run_after" && previous.status !== "running") {
      reservation.opening ??= event;
    }
    return undefined;
  }
}

/** How many of the tasks that had a key are looked at for the last window. */
const LAST_WITH_KEY = 10;

/** A decision that gives a task new values. */
type ChangingDecision = Exclude<
  KeyDecision,
  { readonly kind: "return" | "conflict" }
>;

/**
 * The task whose window closes last, of the last ones that had a key; undefined
 * when there is none. A retry moves a date but not the window, so the last one by
 * date may be another one when the machine's clock was set back.
 */
async function lastWithKey(
  { store }: EngineParts,
  { tenantId, workerId, key }: TaskKey,
): Promise<Task | undefined> {
  let after: TaskPosition | undefined;
  do {
    const page = await store.listTasks({
      tenantId,
      workerIds: [workerId],
      key,
      by: "date",
      sort: "date",
      order: "desc",
      limit: LAST_WITH_KEY,
      after,
    });
    const last = page.tasks.reduce<Task | undefined>(
      (last, task) =>
        last !== undefined && closesAtMs(last) >= closesAtMs(task)
          ? last
          : task,
      undefined,
    );
    if (last !== undefined) return last;
    after = page.next;
  } while (after !== undefined);
  return undefined;
}

function closesAtMs({ calls }: Task): number {
  return calls?.kind === "throttle" ? calls.untilMs : 0;
}

function formatKeyName({ definition }: CreateRequest): string | undefined {
  const { key, workerId } = definition;
  return key === undefined ? undefined : `${workerId}\n${key}`;
}

/** A task that may end at any moment is looked at again after this time. */
export const KEY_RETRY_MS = 5_000;
/** A task that is paused or waits for others, after this time. */
const HELD_RETRY_MS = 60_000;
const MAX_KEY_RETRY_MS = 86_400_000;

/** After how many milliseconds a live task may have given its key free. */
function keyRetryMs(holder: Task | undefined, nowMs: number): number {
  if (holder === undefined) return KEY_RETRY_MS;
  const { status, dateMs } = holder;
  if (status === "paused" || status === "blocked") return HELD_RETRY_MS;
  const untilDateMs = status === "running" ? 0 : dateMs - nowMs;
  return Math.min(Math.max(KEY_RETRY_MS, untilDateMs), MAX_KEY_RETRY_MS);
}

function wrongState(reason: string, { status }: Task): CreateRefusal {
  return { kind: "wrong_state", reason, status };
}
