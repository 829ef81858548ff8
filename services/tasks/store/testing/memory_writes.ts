/**
 * Applies transactions to tables in memory, as a whole or not at all.
 *
 * @module
 */

import type { HistoryRecord } from "../../domain/history.ts";
import { computePlacement } from "../../domain/placement.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import { addActivity } from "../kept_counts.ts";
import type {
  AuditEntry,
  IdempotencyEntry,
  RecordKind,
  StoredEvent,
  StoredRecord,
  Transaction,
  TransactionResult,
  Write,
} from "../store.ts";
import type { InboxTables } from "./memory_inbox.ts";

/** All tables. Their keys contain the tenant. */
export interface MemoryTables {
  /** Tasks by id, which is unique across tenants. */
  readonly tasks: Map<string, Task>;
  /** Histories by the id of their task. */
  readonly histories: Map<string, readonly HistoryRecord[]>;
  /** Records by kind, tenant and id. */
  readonly records: Map<string, StoredRecord>;
  /** Answers by tenant and key. */
  readonly answers: Map<string, IdempotencyEntry>;
  /** Executions by tenant and period. */
  readonly usage: Map<string, number>;
  /** Counted starts by their number. */
  readonly starts: Map<number, MemoryStart>;
  /** The number of the last start, also of one that is gone. */
  lastStart: number;
  /** Spans of activity by tenant, series, length and beginning. */
  readonly activity: Map<string, MemoryActivity>;
  /** Audit logs by tenant, the oldest entry first. */
  readonly audit: Map<string, readonly AuditEntry[]>;
  /** Those who listen, by tenant: until when, and the name of the log. */
  readonly listeners: Map<string, MemoryListener>;
  /** Events by their number. */
  readonly events: Map<number, MemoryEvent>;
  /** The number of the last event, and of the last log, also of ones gone. */
  lastEvent: number;
  /** The inbox; undefined for a store that has none. */
  readonly inbox: InboxTables | undefined;
}

/** The activity of a span of time. */
export type MemoryActivity = Omit<WriteOf<"activity">, "kind">;

/** A start that was counted for a rate. */
export type MemoryStart = WriteOf<"start"> & { readonly number: number };

/** Someone who listens to a tenant. */
export interface MemoryListener {
  readonly untilMs: number;
  readonly log: number;
  readonly dropped: number;
}

/** A kept event. */
export interface MemoryEvent {
  readonly tenantId: string;
  readonly atMs: number;
  readonly event: EventWithoutCursor;
}

/** An event before it has a place. */
export type EventWithoutCursor = StoredEvent extends infer Event
  ? Event extends unknown ? Omit<Event, "cursor"> : never
  : never;

/** Creates empty tables. */
export function newMemoryTables(
  { hasInbox = false }: {
    /** Whether there is an inbox. @default {false} */
    readonly hasInbox?: boolean | undefined;
  } = {},
): MemoryTables {
  return {
    inbox: hasInbox
      ? { requests: new Map(), refused: [], shown: new Set() }
      : undefined,
    tasks: new Map(),
    histories: new Map(),
    records: new Map(),
    answers: new Map(),
    usage: new Map(),
    starts: new Map(),
    lastStart: 0,
    activity: new Map(),
    audit: new Map(),
    listeners: new Map(),
    events: new Map(),
    lastEvent: 0,
  };
}

type Reason = Extract<TransactionResult, { kind: "conflict" }>["reason"];
type WriteOf<Kind extends Write["kind"]> = Extract<Write, { kind: Kind }>;

/** Undoes a change of a map. */
type Undo = () => void;

/** Applies a transaction; after a conflict the tables are as before. */
export function applyTransaction(
  tables: MemoryTables,
  transaction: Transaction,
  nowMs: number,
): TransactionResult {
  const quota = transaction.writes.find(({ kind }) => kind === "quota");
  const to: Circumstances = {
    tables,
    nowMs,
    undos: [],
    live: quota === undefined ? 0 : countLive(tables, quota.tenantId),
  };
  for (const [write, content] of transaction.writes.entries()) {
    const reason = applyWrite(to, content);
    if (reason === undefined) continue;
    for (const undo of to.undos.reverse()) undo();
    return { kind: "conflict", write, reason };
  }
  return { kind: "ok" };
}

/** The key of a record in its table. */
export function recordKey(
  kind: RecordKind,
  tenantId: string,
  id: string,
): string {
  return `${kind}\n${twoPartKey(tenantId, id)}`;
}

/** Joins two texts to a key that no other two texts give. */
export function twoPartKey(first: string, second: string): string {
  return `${JSON.stringify(first)}\n${second}`;
}

interface Circumstances {
  readonly tables: MemoryTables;
  readonly nowMs: number;
  readonly undos: Undo[];
  /**
   * The live tasks of the tenant before the transaction, and those that it has
   * added so far; counted only where it has a quota.
   */
  live: number;
}

function countLive({ tasks }: MemoryTables, of: string): number {
  return tasks.values().filter(({ tenantId, status }) =>
    tenantId === of && !isFinal(status)
  ).toArray().length;
}

function applyWrite(to: Circumstances, write: Write): Reason | undefined {
  const { tables, nowMs } = to;
  switch (write.kind) {
    case "task":
      return applyTask(to, write);
    case "record":
      return applyRecord(to, write);
    case "require":
      return tables.records.has(
          recordKey(write.recordKind, write.tenantId, write.id),
        )
        ? undefined
        : "missing";
    case "quota": {
      to.live += write.adds;
      return to.live > write.limit ? "quota" : undefined;
    }
    case "idempotency": {
      const key = twoPartKey(write.tenantId, write.key);
      const there = tables.answers.get(key);
      const isTaken = there !== undefined && there.expiresAtMs > nowMs;
      if (isTaken && write.replaces !== true) {
        return "idempotency";
      }
      put(to, tables.answers, [key, write.entry]);
      return undefined;
    }
    case "audit": {
      const lines = tables.audit.get(write.tenantId) ?? [];
      const { number = (lines.at(-1)?.number ?? 0) + 1 } = write;
      if (lines.some((line) => line.number === number)) return undefined;
      const line = { ...write.entry, number };
      const all = [...lines, line].sort((a, b) => a.number - b.number);
      put(to, tables.audit, [write.tenantId, all]);
      addEvent(to, write.tenantId, { source: "audit", ...toTold(write.entry) });
      return undefined;
    }
    case "listen": {
      const { tenantId, untilMs } = write;
      const there = tables.listeners.get(tenantId);
      put(to, tables.listeners, [
        tenantId,
        untilMs === 0 ? undefined : {
          untilMs: Math.max(untilMs, there?.untilMs ?? 0),
          log: there?.log ?? ++tables.lastEvent,
          dropped: there?.dropped ?? 0,
        },
      ]);
      return undefined;
    }
    case "event": {
      const { tenantId, type, atMs, text } = write;
      addEvent(to, tenantId, { source: "engine", type, atMs, text });
      return undefined;
    }
    case "usage": {
      const key = twoPartKey(write.tenantId, write.period);
      const before = tables.usage.get(key) ?? 0;
      put(to, tables.usage, [key, before + write.executions]);
      return undefined;
    }
    case "activity": {
      const key = activityKey(write);
      const added = addedActivity(tables.activity.get(key), write);
      put(to, tables.activity, [key, added]);
      return undefined;
    }
    case "request": {
      const { inbox } = tables;
      if (inbox === undefined) {
        throw new TypeError("Cannot take a request: the store has no inbox");
      }
      if (!inbox.requests.has(write.number)) return "missing";
      put(to, inbox.requests, [write.number, undefined]);
      return undefined;
    }
    case "start": {
      const number = ++tables.lastStart;
      put(to, tables.starts, [number, { ...write, number }]);
      return undefined;
    }
  }
}

/** The key of a span of activity in its table. */
function activityKey(
  { tenantId, series, stepMs, atMs }: Omit<MemoryActivity, "counts">,
): string {
  const { workerId, job } = series;
  return JSON.stringify([tenantId, workerId, job, stepMs, atMs]);
}

/** The span after more was added to it. */
function addedActivity(
  before: MemoryActivity | undefined,
  write: MemoryActivity,
): MemoryActivity {
  if (before === undefined) return write;
  return {
    ...write,
    expiresAtMs: Math.max(before.expiresAtMs, write.expiresAtMs),
    counts: addActivity(before.counts, write.counts),
  };
}

function applyTask(
  to: Circumstances,
  write: WriteOf<"task">,
): Reason | undefined {
  const { tables } = to;
  const { id, tenantId, next } = write;
  const there = tables.tasks.get(id);
  const fits = write.expectedVersion === 0
    ? there === undefined
    : there?.tenantId === tenantId && there.version === write.expectedVersion;
  if (!fits) return "version";
  if (next === undefined) {
    put(to, tables.tasks, [id, undefined]);
    put(to, tables.histories, [id, undefined]);
    return undefined;
  }
  const { liveKey } = computePlacement(next);
  if (liveKey !== undefined) {
    for (const other of tables.tasks.values()) {
      const isTaken = other.id !== id && other.tenantId === tenantId &&
        other.workerId === next.workerId &&
        computePlacement(other).liveKey === liveKey;
      if (isTaken) return "key";
    }
  }
  put(to, tables.tasks, [id, next]);
  const { foldThrough = 0 } = write;
  const history = (tables.histories.get(id) ?? [])
    .filter(({ seq }) => seq > foldThrough);
  put(to, tables.histories, [id, [...history, ...write.history]]);
  const { workerId, job, group, key, dateMs } = next;
  for (const { text } of write.history) {
    const task = { id, workerId, job, group, key, dateMs };
    addEvent(to, tenantId, { source: "history", text, task });
  }
  return undefined;
}

function toTold({ atMs, action: type, text }: Omit<AuditEntry, "number">) {
  return { type, atMs, text };
}

/** Keeps an event, if someone listens to the tenant. */
function addEvent(
  to: Circumstances,
  tenantId: string,
  event: EventWithoutCursor,
): void {
  const { listeners, events } = to.tables;
  if (!listeners.has(tenantId)) return;
  const { atMs } = event.source === "history" ? JSON.parse(event.text) : event;
  put(to, events, [++to.tables.lastEvent, { tenantId, atMs, event }]);
}

function applyRecord(
  to: Circumstances,
  write: WriteOf<"record">,
): Reason | undefined {
  const { tables } = to;
  const { recordKind, tenantId, next } = write;
  const key = recordKey(recordKind, tenantId, write.id);
  const there = tables.records.get(key);
  if ((there?.version ?? 0) !== write.expectedVersion) return "version";
  if (next?.alias !== undefined) {
    for (const [otherKey, other] of tables.records) {
      const isTaken = otherKey !== key && other.kind === recordKind &&
        other.tenantId === tenantId && other.alias === next.alias;
      if (isTaken) return "alias";
    }
  }
  put(to, tables.records, [key, next]);
  return undefined;
}

function put<Key, Value>(
  to: Circumstances,
  table: Map<Key, Value>,
  [key, value]: readonly [Key, Value | undefined],
): void {
  const before = table.get(key);
  set(table, key, value);
  to.undos.push(() => set(table, key, before));
}

function set<Key, Value>(
  table: Map<Key, Value>,
  ...[key, value]: [Key, Value | undefined]
): void {
  if (value === undefined) table.delete(key);
  else table.set(key, value);
}
