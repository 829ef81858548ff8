/**
 * The events of a tenant as readers and receivers of webhooks see them.
 *
 * @module
 */

import {
  eventOfAction,
  eventOfHistory,
  type EventType,
  isEventType,
} from "../../domain/event_types.ts";
import type { HistoryDraft } from "../../domain/history.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import type { TaskError } from "../../domain/task.ts";
import type { EventTask, StoredEvent } from "../../store/stored.ts";

/** What an event tells; never payloads or results. */
export type EventData = Readonly<Record<string, unknown>>;

/** An event of a tenant. */
export interface TenantEvent {
  /** The type. */
  readonly type: EventType;
  /** Its place among the tenant's events, which also names it. */
  readonly cursor: string;
  /** When it happened, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The task that it is of. */
  readonly task?: EventTask | undefined;
  /** The id of the worker that it is of. */
  readonly workerId?: string | undefined;
  /** What it tells. */
  readonly data: EventData;
}

/** The failure of an attempt that the records after it follow from. */
interface Failed {
  readonly taskId: string;
  readonly draft: HistoryDraft;
}

/**
 * Makes events of what was stored, in its order. A record that tells the failure
 * of an attempt is no event; its error is in the event of the record after it.
 */
export class EventViewer {
  #failed: Failed | undefined;

  /** Another one, which goes on from the same place. */
  copy(): EventViewer {
    const copy = new EventViewer();
    copy.#failed = this.#failed;
    return copy;
  }

  /** The event that something stored is, if it is one. */
  view(stored: StoredEvent): TenantEvent | undefined {
    if (stored.source === "history") return this.#viewRecord(stored);
    const { cursor, atMs, text, type } = stored;
    const content: unknown = JSON.parse(text);
    if (stored.source === "engine") {
      if (!isEventType(type)) return undefined;
      const data = content as EventData;
      const worker = data["worker"];
      const workerId = typeof worker === "string" ? worker : undefined;
      return { type, cursor, atMs, workerId, data };
    }
    const event = eventOfAction(type);
    if (event === undefined) return undefined;
    const { actor, target, detail } = content as Record<string, unknown>;
    const workerId = event.startsWith("worker.") && typeof target === "string"
      ? target
      : undefined;
    const task = event.startsWith("task.") ? target : undefined;
    const data = {
      task,
      worker: workerId,
      action: type,
      target,
      actor,
      detail,
    };
    return { type: event, cursor, atMs, workerId, data };
  }

  #viewRecord(
    { cursor, text, task }: Extract<StoredEvent, { source: "history" }>,
  ): TenantEvent | undefined {
    // Only the engine writes records, and it writes drafts.
    const draft = JSON.parse(text) as HistoryDraft;
    const failed = this.#failed?.taskId === task.id
      ? this.#failed.draft
      : undefined;
    this.#failed = draft.error === undefined
      ? undefined
      : { taskId: task.id, draft };
    const type = eventOfHistory(draft.type);
    if (type === undefined) return undefined;
    const isEndOfAttempt = type === "task.retrying" || type === "task.failed";
    const before = isEndOfAttempt ? failed : undefined;
    return {
      type,
      cursor,
      atMs: draft.atMs,
      task,
      workerId: task.workerId,
      data: viewData(task, draft, before),
    };
  }
}

/** The data of an event of a task. */
function viewData(
  task: EventTask,
  draft: HistoryDraft,
  before: HistoryDraft | undefined,
): EventData {
  const { http = before?.http, error = before?.error } = draft;
  return {
    task: task.id,
    worker: task.workerId,
    job: task.job,
    key: task.key,
    group: task.group === "" ? undefined : task.group,
    status: draft.status,
    run: draft.run,
    attempt: draft.attempt ?? before?.attempt,
    date: utcTime(task.dateMs),
    next_date: optionalTime(draft.nextDateMs) ?? undefined,
    error: error && viewCause(error),
    http_status: http?.status,
    amount: draft.amount,
    message: draft.message,
    fields: draft.changes?.map(({ field }) => field),
    instance: draft.instance,
    actor: draft.actor,
  };
}

function viewCause({ code, message, httpStatus }: TaskError): EventData {
  return { code, message, http_status: httpStatus };
}

/**
 * An event as JSON text, as readers and receivers of webhooks get it. `id` is
 * the same wherever and however often it is told.
 */
export function eventJson({ type, cursor, atMs, data }: TenantEvent): string {
  return JSON.stringify({
    type,
    timestamp: utcTime(atMs),
    id: cursor,
    data,
  });
}
