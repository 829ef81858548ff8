/**
 * Bulk actions whose progress is kept: the record of one, and the note by which
 * the next start finds those that are running.
 *
 * @module
 */

import type { StoredRecord } from "../../store/record.ts";
import type { Store, Write } from "../../store/store.ts";
import { REGISTRY } from "../repositories.ts";
import type { BulkOrder, BulkPosition, BulkProgress } from "./order.ts";

/** The kind of record. */
const KIND = "operation";

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
      ...(afterId === undefined ? {} : { afterId }),
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
