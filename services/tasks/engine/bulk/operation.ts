/**
 * Bulk actions: what is ordered, how far it is, and the records by which one is
 * found again after a restart.
 *
 * @module
 */

import type { Actor } from "../../domain/records.ts";
import type { TaskPosition, TaskQuery } from "../../store/queries.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";
import { REGISTRY } from "../repositories.ts";

/** The kind of record. */
const KIND = "operation";

/** What can be done to many tasks. */
export const BULK_ACTIONS = [
  "cancel",
  "retry",
  "pause",
  "resume",
  "delete",
] as const;

/** What is done to each task. */
type BulkAction = typeof BULK_ACTIONS[number];

/** The part of a query that a filter decides. */
export type TaskFilter = Omit<
  TaskQuery,
  "tenantId" | "sort" | "order" | "limit" | "after" | "count"
>;

/** Which tasks, and what is done to each. */
export interface BulkOrder {
  /** What is done. */
  readonly action: BulkAction;
  /** Whose tasks. */
  readonly tenantId: string;
  /** Who ordered it. */
  readonly actor: Actor;
  /** The tasks by id; absent when a filter selects them. */
  readonly ids?: readonly string[] | undefined;
  /** The tasks by filter; absent when they are given by id. */
  readonly filter?: TaskFilter | undefined;
  /** How many tasks are looked at, at most. */
  readonly limit: number;
  /** Whether to write nothing and count what would be done. */
  readonly isDryRun: boolean;
  /** When it was ordered; a filter selects no tasks that were created later. */
  readonly orderedAtMs: number;
}

/** Where the next portion begins. */
export type BulkPosition =
  /** After this many of the ids. */
  | { readonly kind: "ids"; readonly index: number }
  /** After a task, ordered by creation; at the first one when absent. */
  | { readonly kind: "filter"; readonly after?: TaskPosition | undefined };

/** A task that the action could not be applied to. */
interface BulkError {
  /** The task. */
  readonly id: string;
  /** Why, for programs. */
  readonly code: string;
  /** Why, for people. */
  readonly detail: string;
}

/** How far it is. */
export interface BulkProgress {
  /** Tasks that were looked at. */
  readonly matched: number;
  /** Tasks that were changed, or would be. */
  readonly changed: number;
  /** Tasks that needed no change. */
  readonly unchanged: number;
  /** Tasks that it could not be applied to. */
  readonly failed: number;
  /** The first of these. */
  readonly errors: readonly BulkError[];
}

/** How many errors are listed. */
const MAX_BULK_ERRORS = 10;

/** The progress of an order that has not begun. */
export const NO_PROGRESS: BulkProgress = {
  matched: 0,
  changed: 0,
  unchanged: 0,
  failed: 0,
  errors: [],
};

/** What became of one task. */
export type BulkResult =
  | { readonly kind: "changed" }
  | { readonly kind: "unchanged" }
  | ({ readonly kind: "failed" } & BulkError);

/** Adds the results of some more tasks. */
export function addResults(
  progress: BulkProgress,
  results: readonly BulkResult[],
): BulkProgress {
  let { matched, changed, unchanged, failed } = progress;
  const errors = [...progress.errors];
  for (const result of results) {
    matched++;
    if (result.kind === "changed") changed++;
    else if (result.kind === "unchanged") unchanged++;
    else {
      failed++;
      const { id, code, detail } = result;
      if (errors.length < MAX_BULK_ERRORS) errors.push({ id, code, detail });
    }
  }
  return { matched, changed, unchanged, failed, errors };
}

/** The first position of an order. */
export function firstPosition({ ids }: BulkOrder): BulkPosition {
  return ids === undefined ? { kind: "filter" } : { kind: "ids", index: 0 };
}

/** Where the answer to a request with an Idempotency-Key is kept. */
export interface AnswerPlace {
  /** The tenant; empty on hosts that are no tenant's. */
  readonly tenantId: string;
  /** The key within its scope, as the store has it. */
  readonly key: string;
  /** The hash of the request's body. */
  readonly bodyHash: string;
}

/** A bulk action whose progress is kept. */
export interface Operation {
  /** `opr_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more after each portion. */
  readonly version: number;
  /** What was ordered. */
  readonly order: BulkOrder;
  /** Whether it goes on; `failed` is one that could not. */
  readonly status: "running" | "done" | "failed";
  /** How far it is. */
  readonly progress: BulkProgress;
  /** Where the next portion begins. */
  readonly from: BulkPosition;
  /**
   * Where its answer is written when it ends; absent when the client was
   * answered as it began.
   */
  readonly answersTo?: AnswerPlace | undefined;
  /** The last change, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** Its end, in milliseconds since the epoch. */
  readonly finishedAtMs?: number | undefined;
}

/** Names an operation among those of all tenants. */
export interface OperationName {
  /** The tenant. */
  readonly tenantId: string;
  /** Its id. */
  readonly id: string;
}

/** The operation of that id, if the tenant has it. */
export async function readOperation(
  store: Pick<Store, "record">,
  { tenantId, id }: OperationName,
): Promise<Operation | undefined> {
  const record = await store.record(KIND, tenantId, id);
  return record === undefined ? undefined : operationOf(record);
}

/** The tenant's operations, by id and so by age, at most `limit`. */
export async function listOperations(
  store: Pick<Store, "records">,
  { tenantId, limit }: { readonly tenantId: string; readonly limit: number },
): Promise<readonly Operation[]> {
  const { records } = await store.records({ kind: KIND, tenantId, limit });
  return records.map(operationOf);
}

/** Its name among those of all tenants. */
export function nameOf({ id, order: { tenantId } }: Operation): OperationName {
  return { tenantId, id };
}

/** The write that puts an operation in the place of its version before. */
export function puttingOperation(next: Operation): Write {
  return recordWrite(nameOf(next), {
    expectedVersion: next.version - 1,
    next,
  });
}

/** The write that removes an operation. */
export function removingOperation(operation: Operation): Write {
  return recordWrite(nameOf(operation), {
    expectedVersion: operation.version,
  });
}

/** The write that notes for the next start that an operation is running. */
export function addingNote(name: OperationName): Write {
  return recordWrite(noteOf(name), {
    expectedVersion: 0,
    next: { version: 1, ...name },
  });
}

/** The write that removes the note. */
export function removingNote(name: OperationName): Write {
  return recordWrite(noteOf(name), { expectedVersion: 1 });
}

/** Notes are found without a search through all tenants. No id has a colon. */
function noteOf({ tenantId, id }: OperationName): OperationName {
  return { tenantId: REGISTRY, id: `${tenantId}:${id}` };
}

function recordWrite(
  { tenantId, id }: OperationName,
  { expectedVersion, next }: {
    readonly expectedVersion: number;
    readonly next?: { readonly version: number };
  },
): Write {
  const version = next?.version ?? 0;
  return {
    kind: "record",
    recordKind: KIND,
    tenantId,
    id,
    expectedVersion,
    next: next &&
      { kind: KIND, tenantId, id, version, text: JSON.stringify(next) },
  };
}

/** All operations that were noted to be running, a page at a time. */
export async function* runningNames(
  store: Pick<Store, "records">,
): AsyncGenerator<OperationName> {
  let afterId: string | undefined;
  while (true) {
    const { records, hasMore } = await store.records({
      kind: KIND,
      tenantId: REGISTRY,
      limit: 100,
      afterId,
    });
    for (const { text } of records) {
      // Only addingNote() writes these.
      const { tenantId, id } = JSON.parse(text) as OperationName;
      yield { tenantId, id };
    }
    afterId = records.at(-1)?.id;
    if (!hasMore) return;
  }
}

function operationOf({ text }: StoredRecord): Operation {
  // Only puttingOperation() writes these.
  return JSON.parse(text) as Operation;
}
