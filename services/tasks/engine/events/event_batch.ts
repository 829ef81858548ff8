/**
 * Events that were read once for all their readers, and the texts in which they
 * are sent, each of which is made once for all readers of the same filter.
 *
 * @module
 */

import type { EventType } from "../../domain/event_types.ts";
import { eventJson, type TenantEvent } from "./tenant_event.ts";

/** Which events a reader gets. */
export interface EventFilter {
  /** Only these types. */
  readonly types: ReadonlySet<EventType>;
  /** Only those of a task. */
  readonly taskId?: string | undefined;
  /** Only those of a worker. */
  readonly workerId?: string | undefined;
  /** Only those of tasks of a job. */
  readonly job?: string | undefined;
  /** The same for all filters that let the same events pass. */
  readonly key: string;
}

/** Makes a filter. */
export function toFilter(of: Omit<EventFilter, "key">): EventFilter {
  const { types, taskId = null, workerId = null, job = null } = of;
  const key = JSON.stringify([taskId, workerId, job, ...[...types].sort()]);
  return { ...of, key };
}

/** The filters in use: one object for all readers who get the same events. */
export class SharedFilters {
  readonly #shared = new Map<string, { filter: EventFilter; users: number }>();

  /** Gives the filter that is used in place of an equal one. */
  take(filter: EventFilter): EventFilter {
    const shared = this.#shared.get(filter.key) ?? { filter, users: 0 };
    shared.users++;
    this.#shared.set(filter.key, shared);
    return shared.filter;
  }

  /** Takes back what was given, once for each time. */
  give({ key }: EventFilter): void {
    const shared = this.#shared.get(key);
    if (shared !== undefined && --shared.users === 0) this.#shared.delete(key);
  }
}

/** Whether a filter lets an event pass. */
export function passes(
  { types, taskId, workerId, job }: EventFilter,
  event: TenantEvent,
): boolean {
  return types.has(event.type) &&
    (taskId === undefined || event.task?.id === taskId ||
      event.data["target"] === taskId) &&
    (workerId === undefined || event.workerId === workerId) &&
    (job === undefined || event.task?.job === job);
}

/** What a batch has for the readers of one filter. */
class Passed {
  /** The events. */
  readonly events: readonly TenantEvent[];
  #bytes: Uint8Array | undefined;

  constructor(events: readonly TenantEvent[]) {
    this.events = events;
  }

  /** All of them as they are sent; made when first asked for. */
  get bytes(): Uint8Array {
    return this.#bytes ??= encoder.encode(this.events.map(eventFrame).join(""));
  }
}

const encoder = new TextEncoder();

/** Events that were read together, in their order. */
export class EventBatch {
  /** The cursor to go on from after them. */
  readonly end: string;
  /** Whether there were others before the end, which were not read. */
  readonly hasMore: boolean;
  readonly #events: readonly TenantEvent[];
  readonly #passed = new Map<string, Passed>();

  /** Takes the events. */
  constructor(
    events: readonly TenantEvent[],
    { end, hasMore }: Pick<EventBatch, "end" | "hasMore">,
  ) {
    this.#events = events;
    this.end = end;
    this.hasMore = hasMore;
  }

  /** What readers of a filter get. */
  of(filter: EventFilter): Passed {
    const known = this.#passed.get(filter.key);
    if (known !== undefined) return known;
    const passed = new Passed(
      this.#events.filter((event) => passes(filter, event)),
    );
    this.#passed.set(filter.key, passed);
    return passed;
  }
}

function eventFrame(event: TenantEvent): string {
  const { cursor, type } = event;
  return frame({ id: cursor, event: type, data: eventJson(event) });
}

/** What is sent as one server-sent event; texts without line ends. */
interface Frame {
  /** Where a reader goes on that comes again. */
  readonly id?: string;
  /** The type. */
  readonly event?: string;
  /** The data; without it readers see no event, but keep the id. */
  readonly data?: string;
  /** After how many milliseconds a reader comes again that was cut off. */
  readonly retryMs?: number;
  /** A text that readers ignore. */
  readonly comment?: string;
}

/** Formats a server-sent event. */
export function frame({ id, event, data, retryMs, comment }: Frame): string {
  return (comment === undefined ? "" : `: ${comment}\n`) +
    (retryMs === undefined ? "" : `retry: ${retryMs}\n`) +
    (id === undefined ? "" : `id: ${id}\n`) +
    (event === undefined ? "" : `event: ${event}\n`) +
    (data === undefined ? "" : `data: ${data}\n`) + "\n";
}

/** A server-sent event as bytes. */
export function frameBytes(of: Frame): Uint8Array {
  return encoder.encode(frame(of));
}
