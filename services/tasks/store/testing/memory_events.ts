/**
 * Reads and sweeps the events of a store in memory.
 *
 * @module
 */

import type { EventsQuery } from "../queries.ts";
import { type EventPage, EVENTS_KEPT, EVENTS_KEPT_MS } from "../stored.ts";
import type { MemoryTables } from "./memory_writes.ts";

type EventTables = Pick<MemoryTables, "listeners" | "events">;

/** A page of a tenant's events. */
export function memoryEvents(
  { listeners, events }: EventTables,
  { tenantId, after, through, limit }: EventsQuery,
): EventPage {
  const listener = listeners.get(tenantId);
  if (listener === undefined) {
    return { events: [], end: "", isReset: true, isHeld: false };
  }
  const { log, dropped } = listener;
  const own = [...events].filter(([, event]) => event.tenantId === tenantId);
  const [ofLog, number] = (after ?? "").split("-").map(Number);
  const last = Math.max(dropped, own.at(-1)?.[0] ?? 0);
  const isKept = after === undefined ||
    ofLog === log && number !== undefined && number >= dropped;
  const from = after === undefined ? last : isKept ? number ?? 0 : dropped;
  const to = Number(through?.split("-")[1] ?? Infinity);
  const shown = own.filter(([at]) => at > from && at <= to).slice(0, limit)
    .map(([at, { event }]) => ({ cursor: `${log}-${at}`, ...event }));
  const end = shown.at(-1)?.cursor ?? `${log}-${from}`;
  return { events: shown, end, isReset: !isKept, isHeld: false };
}

/** Removes listeners whose time is over, and events; returns how many. */
export function sweepMemoryEvents(
  { listeners, events }: EventTables,
  nowMs: number,
  limit: number,
): number {
  for (const [tenantId, { untilMs }] of listeners) {
    if (untilMs <= nowMs) listeners.delete(tenantId);
  }
  let removed = 0;
  const left = new Map<string, number>();
  for (const { tenantId } of events.values()) {
    left.set(tenantId, (left.get(tenantId) ?? 0) + 1);
  }
  for (const [number, { tenantId, atMs }] of events) {
    const listener = listeners.get(tenantId);
    const count = left.get(tenantId) ?? 0;
    const isKept = listener !== undefined && atMs > nowMs - EVENTS_KEPT_MS &&
      count <= EVENTS_KEPT;
    if (isKept || removed === limit) continue;
    events.delete(number);
    left.set(tenantId, count - 1);
    removed++;
    if (listener !== undefined) {
      listeners.set(tenantId, { ...listener, dropped: number });
    }
  }
  return removed;
}
