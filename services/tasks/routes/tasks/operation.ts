/**
 * Bulk actions that go on after they were answered: what is kept of one.
 *
 * @module
 */

import { REGISTRY } from "../../engine/repositories.ts";
import type { StoredRecord } from "../../store/record.ts";
import type { Store, Write } from "../../store/store.ts";
import type { AnswerPlace } from "../../http/kept_answer.ts";
import type { BulkOrder, BulkProgress } from "./bulk_action.ts";
import type { BulkPosition } from "./bulk_position.ts";
import type { StepTarget } from "./bulk_trace.ts";

/** The kind of record. */
const KIND = "operation";

/** A bulk action under way or at its end. */
export interface Operation {
  /** `opr_` and 26 characters. */
  readonly id: string;
  /** 1 at first, one more with each step. */
  readonly version: number;
  /** What was ordered. */
  readonly order: BulkOrder;
  /** Whether it goes on; `failed` is one that could not. */
  readonly status: "running" | "done" | "failed";
  /** How far it has come. */
  readonly progress: BulkProgress;
  /** Where the next step begins. */
  readonly from: BulkPosition;
  /**
   * The step that is under way: whoever finds it has to find out how far that
   * came. Absent between steps.
   */
  readonly step?: {
    /** What it is for. */
    readonly targets: readonly StepTarget[];
    /** Where the one after it begins; absent when it is the last. */
    readonly next?: BulkPosition;
  };
  /**
   * Where the answer is to be kept when it is done; absent when its client was
   * answered as it began.
   */
  readonly answersTo?: AnswerPlace;
  /** The last change, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** Its end, in milliseconds since the epoch. */
  readonly finishedAtMs?: number;
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

/** The write that puts a step in the place of the one before. */
export function putOperation(next: Operation): Write {
  const { id, version, order: { tenantId } } = next;
  return {
    kind: "record",
    recordKind: KIND,
    tenantId,
    id,
    expectedVersion: version - 1,
    next: { kind: KIND, tenantId, id, version, text: JSON.stringify(next) },
  };
}

/** The write that forgets an operation. */
export function forgetOperation({ id, version, order }: Operation): Write {
  return {
    kind: "record",
    recordKind: KIND,
    tenantId: order.tenantId,
    id,
    expectedVersion: version,
    next: undefined,
  };
}

/** The write that notes for the next start that an operation is under way. */
export function noteUnderWay({ tenantId, id }: OperationName): Write {
  const noteId = noteIdOf({ tenantId, id });
  return {
    kind: "record",
    recordKind: KIND,
    tenantId: REGISTRY,
    id: noteId,
    expectedVersion: 0,
    next: {
      kind: KIND,
      tenantId: REGISTRY,
      id: noteId,
      version: 1,
      text: JSON.stringify({ tenantId, id }),
    },
  };
}

/** The write that takes the note back. */
export function noteEnded(name: OperationName): Write {
  return {
    kind: "record",
    recordKind: KIND,
    tenantId: REGISTRY,
    id: noteIdOf(name),
    expectedVersion: 1,
    next: undefined,
  };
}

/** All operations that were noted to be under way, a page at a time. */
export async function* namesUnderWay(
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
    // Only noteUnderWay() writes these.
    for (const { text } of records) yield JSON.parse(text) as OperationName;
    afterId = records.at(-1)?.id;
    if (!hasMore) return;
  }
}

function operationOf({ text }: StoredRecord): Operation {
  // Only putOperation() writes these.
  return JSON.parse(text) as Operation;
}

/** No id has a colon. */
function noteIdOf({ tenantId, id }: OperationName): string {
  return `${tenantId}:${id}`;
}
