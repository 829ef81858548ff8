/**
 * Bulk actions on many tasks: their orders, their progress, and the records in
 * which the store keeps them, so that they continue after a restart.
 *
 * @module
 */

import type { Actor } from "../../domain/records.ts";
import type { TaskPosition, TaskQuery } from "../../store/queries.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";
import { REGISTRY } from "../repositories.ts";

/** The kind of the records in the store. */
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

/** The part of a query that a client's filter decides. */
export type TaskFilter = Omit<
  TaskQuery,
  "tenantId" | "sort" | "order" | "limit" | "after" | "count"
>;

/** A bulk action: which tasks it selects, and what it does to each. */
export interface BulkOrder {
  /** What is done to each task. */
  readonly action: BulkAction;
  /** The tenant whose tasks are selected. */
  readonly tenantId: string;
  /** Who ordered it. */
  readonly actor: Actor;
  /** The tasks by id; absent when a filter selects them. */
  readonly ids?: readonly string[] | undefined;
  /** The tasks by filter; absent when they are given by id. */
  readonly filter?: TaskFilter | undefined;
  /** The most tasks that are processed. */
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
  /** The reason, for programs. */
  readonly code: string;
  /** The reason, for people. */
  readonly detail: string;
}

/** How many tasks of a bulk action are processed, by outcome. */
export interface BulkProgress {
  /** Tasks that were processed. */
  readonly matched: number;
  /** Tasks that were changed, or would be. */
  readonly changed: number;
  /** Tasks that needed no change. */
  readonly unchanged: number;
  /** Tasks to which the action could not be applied. */
  readonly failed: number;
  /** The first errors, at most ten. */
  readonly errors: readonly BulkError[];
}

/** The most errors that are listed. */
const MAX_BULK_ERRORS = 10;

/** The progress of an order that has not begun. */
export const NO_PROGRESS: BulkProgress = {
  matched: 0,
  changed: 0,
  unchanged: 0,
  failed: 0,
  errors: [],
};

/** The outcome for a single task. */
export type BulkResult =
  | { readonly kind: "changed" }
  | { readonly kind: "unchanged" }
  | ({ readonly kind: "failed" } & BulkError);

/** Returns the progress with the results of more tasks added. */
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

/** Where the answer to a request with an `Idempotency-Key` is stored. */
export interface AnswerPlace {
  /** The tenant; empty on hosts that belong to no tenant. */
  readonly tenantId: string;
  /** The key within its scope, as the store has it. */
  readonly key: string;
  /** The hash of the request's body. */
  readonly bodyHash: string;
}

/** A bulk action whose progress is stored. */
export interface Operation {
  /** `opr_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more after each portion. */
  readonly version: number;
  /** What was ordered. */
  readonly order: BulkOrder;
  /** Whether the operation goes on; `failed` means that it was given up. */
  readonly status: "running" | "done" | "failed";
  /** How far it is. */
  readonly progress: BulkProgress;
  /** Where the next portion begins. */
  readonly from: BulkPosition;
  /**
   * Where its answer is written when the operation ends; absent when the client
   * got its answer as the operation began.
   */
  readonly answersTo?: AnswerPlace | undefined;
  /** The last change, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** Its end, in milliseconds since the epoch. */
  readonly finishedAtMs?: number | undefined;
}

/** The operation of an order that has not begun. */
export function newOperation(order: BulkOrder, id: string): Operation {
  return {
    id,
    version: 1,
    order,
    status: "running",
    progress: NO_PROGRESS,
    from: firstPosition(order),
    updatedAtMs: order.orderedAtMs,
  };
}

/** Identifies an operation among those of all tenants. */
export interface OperationName {
  /** The tenant. */
  readonly tenantId: string;
  /** Its id. */
  readonly id: string;
}

/**
 * Reads the operation with an id; undefined when the tenant has no such one.
 */
export async function readOperation(
  store: Pick<Store, "record">,
  { tenantId, id }: OperationName,
): Promise<Operation | undefined> {
  const record = await store.record(KIND, tenantId, id);
  return record === undefined ? undefined : parseOperation(record);
}

/**
 * Lists the tenant's operations by id, so the oldest first, at most `limit`.
 */
export async function listOperations(
  store: Pick<Store, "records">,
  { tenantId, limit }: { readonly tenantId: string; readonly limit: number },
): Promise<readonly Operation[]> {
  const { records } = await store.records({ kind: KIND, tenantId, limit });
  return records.map(parseOperation);
}

/** The tenant and the id of an operation. */
export function toName({ id, order: { tenantId } }: Operation): OperationName {
  return { tenantId, id };
}

/** The write that replaces the previous version of an operation. */
export function puttingOperation(next: Operation): Write {
  return recordWrite(toName(next), {
    expectedVersion: next.version - 1,
    next,
  });
}

/** The write that removes an operation. */
export function removingOperation(operation: Operation): Write {
  return recordWrite(toName(operation), {
    expectedVersion: operation.version,
  });
}

/** A note that an operation is running. */
export interface OperationNote extends OperationName {
  /** 1 at first, one more each time another instance takes it over. */
  readonly version: number;
  /**
   * The id of the instance that works on it; absent in notes of earlier
   * versions.
   */
  readonly instance?: string | undefined;
}

/**
 * The write that adds the note that an operation is running, or takes it over.
 * By it another instance, or the next start of the service, finds the operation.
 */
export function puttingNote(note: OperationNote): Write {
  return recordWrite(toNoteName(note), {
    expectedVersion: note.version - 1,
    next: note,
  });
}

/** The write that removes the note. */
export function removingNote(note: OperationNote): Write {
  return recordWrite(toNoteName(note), { expectedVersion: note.version });
}

/**
 * The record that holds a note. All notes have the same tenant, so that they
 * are found without a search through all tenants. No id has a colon.
 */
function toNoteName({ tenantId, id }: OperationName): OperationName {
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

/**
 * Lists all operations that are noted as running; it reads a page at a time.
 */
export async function* runningNotes(
  store: Pick<Store, "records">,
): AsyncGenerator<OperationNote> {
  let afterId: string | undefined;
  while (true) {
    const { records, hasMore } = await store.records({
      kind: KIND,
      tenantId: REGISTRY,
      limit: 100,
      afterId,
    });
    for (const { text } of records) {
      // Only `puttingNote()` writes these records.
      yield JSON.parse(text) as OperationNote;
    }
    afterId = records.at(-1)?.id;
    if (!hasMore) return;
  }
}

function parseOperation({ text }: StoredRecord): Operation {
  // Only `puttingOperation()` writes these records.
  return JSON.parse(text) as Operation;
}
