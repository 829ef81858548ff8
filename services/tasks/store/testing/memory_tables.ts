/**
 * What the store in memory keeps.
 *
 * @module
 */

import type { HistoryRecord } from "../../domain/history.ts";
import type { Task } from "../../domain/task.ts";
import type { StoredRecord } from "../record.ts";
import type { AuditEntry, IdempotencyEntry } from "../store.ts";

/** Everything, by keys that hold the tenant. */
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
  /** Audit logs by tenant, oldest line first. */
  readonly audit: Map<string, readonly AuditEntry[]>;
}

/** Tables with nothing in them. */
export function newMemoryTables(): MemoryTables {
  return {
    tasks: new Map(),
    histories: new Map(),
    records: new Map(),
    answers: new Map(),
    usage: new Map(),
    audit: new Map(),
  };
}
