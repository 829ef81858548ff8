/**
 * What a store keeps besides tasks: records, answers to requests and entries of
 * audit logs.
 *
 * @module
 */

import type { RecordKind } from "./queries.ts";

/** A record. */
export interface StoredRecord {
  /** The kind of the record. */
  readonly kind: RecordKind;
  /** The tenant it belongs to; empty for records that belong to no tenant. */
  readonly tenantId: string;
  /** Unique among the tenant's records of the kind. */
  readonly id: string;
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** A second name, unique among the tenant's records of the kind. */
  readonly alias?: string | undefined;
  /** The record it belongs to, such as the worker of a secret. */
  readonly parentId?: string | undefined;
  /** The content, as JSON text. */
  readonly text: string;
}

/** The stored answer to a request with an idempotency key. */
export interface IdempotencyEntry {
  /** SHA-256 of the request's body. */
  readonly bodyHash: string;
  /** The status of the answer. */
  readonly status: number;
  /** The headers that are repeated with the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's body. */
  readonly body: string;
  /** When the entry may be removed, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** An event of a tenant, as it is stored for those who listen. */
export type StoredEvent =
  & {
    /** Its place among the tenant's events; opaque, in printable ASCII. */
    readonly cursor: string;
  }
  & (
    | {
      /** It is a record of a task's history. */
      readonly source: "history";
      /** The text of the record. */
      readonly text: string;
      /** The task as it was after the commit. */
      readonly task: EventTask;
    }
    | {
      /** It is an entry of the audit log, or one that the engine has written. */
      readonly source: "audit" | "engine";
      /** The action of the entry, or the type that the engine gave. */
      readonly type: string;
      /** When it happened, in milliseconds since the epoch. */
      readonly atMs: number;
      /** The text of the entry, or the event's data, as JSON. */
      readonly text: string;
    }
  );

/** The columns of a stored event, but for its place. */
export interface EventColumns {
  /** 0 for a record of a history, 1 for an audit log, 2 for the engine. */
  readonly source: number;
  /** The type; empty for a record of a history. */
  readonly type: string;
  /** When it happened. */
  readonly at_ms: number;
  /** The text. */
  readonly text: string;
  /** The id of the task. */
  readonly task: string | null;
  /** The worker. */
  readonly worker: string | null;
  /** The job. */
  readonly job: string | null;
  /** The group. */
  readonly grp: string | null;
  /** The key. */
  readonly key: string | null;
  /** The date. */
  readonly date_ms: number | null;
}

/** Reads an event from its columns. */
export function readEvent(row: EventColumns, cursor: string): StoredEvent {
  const { source, type, at_ms: atMs, text } = row;
  if (source !== 0) {
    return {
      cursor,
      source: source === 1 ? "audit" : "engine",
      type,
      atMs,
      text,
    };
  }
  const task = {
    id: row.task ?? "",
    workerId: row.worker ?? "",
    job: row.job ?? "",
    group: row.grp ?? "",
    key: row.key ?? undefined,
    dateMs: row.date_ms ?? 0,
  };
  return { cursor, source: "history", text, task };
}

/** The task of an event. */
export interface EventTask {
  /** The id. */
  readonly id: string;
  /** The worker. */
  readonly workerId: string;
  /** The job. */
  readonly job: string;
  /** The group. */
  readonly group: string;
  /** The key. */
  readonly key: string | undefined;
  /** The date, in milliseconds since the epoch. */
  readonly dateMs: number;
}

/** A page of the events of a tenant. */
export interface EventPage {
  /** The events, in the order of their commits. */
  readonly events: readonly StoredEvent[];
  /**
   * The cursor to go on from. When it was read without `after`, each commit that
   * is answered later is behind it.
   */
  readonly end: string;
  /**
   * Whether events after the given cursor are gone, or were never kept; those
   * that are left follow.
   */
  readonly isReset: boolean;
  /** Whether events are committed that cannot be shown yet, for a moment. */
  readonly isHeld: boolean;
}

/** For how long events are kept, in milliseconds. */
export const EVENTS_KEPT_MS = 86_400_000;
/** How many events of a tenant are kept at least, if they are young enough. */
export const EVENTS_KEPT = 100_000;

/** An entry of the audit log. */
export interface AuditEntry {
  /** The number of the entry, which rises within the tenant. */
  readonly number: number;
  /** When it was done, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What was done, such as `worker.created`. */
  readonly action: string;
  /** Who did it, to what, and details, as JSON text. */
  readonly text: string;
}
