/**
 * Prepares transactions for the database, before they wait to be written.
 *
 * @module
 */

import type { Pausing } from "../../../shared/slices.ts";
import type { QueuedBatch } from "../../../shared/commit_queue.ts";
import type { Transaction, Write } from "../store.ts";
import { demandSame, tenantOfTransaction } from "../tenant_batches.ts";
import type { KnownTasks } from "./known_tasks.ts";
import {
  countChars,
  prepareTask,
  type TaskChange,
  type TaskRemoval,
} from "./task_change.ts";

/** A write that is ready but for the numbers of tenants and workers. */
export type PreparedWrite =
  | TaskChange
  | TaskRemoval
  | Exclude<Write, { readonly kind: "task" }>;

/** The writes of a transaction. */
export type PreparedTransaction = readonly PreparedWrite[];

/** Transactions of one tenant. */
export interface PreparedBatch extends QueuedBatch {
  /** The transactions in their order. */
  readonly prepared: readonly PreparedTransaction[];
  /**
   * Whether another connection may write it, at the same time as others of the
   * tenant: no two of such transactions lock what the other one needs.
   */
  readonly isUnordered: boolean;
}

/**
 * Prepares transactions of one tenant.
 *
 * @throws {TypeError} when the store's interface does not allow a task or a
 * record
 */
export function prepareBatch(
  transactions: readonly Transaction[],
  known: KnownTasks,
): PreparedBatch {
  return toBatch(
    transactions,
    transactions.map(({ writes }) =>
      writes.map((write) => prepareWrite(write, known))
    ),
  );
}

/**
 * Prepares transactions of one tenant, and lets others go first in between.
 *
 * @throws {TypeError} as {@linkcode prepareBatch}
 */
export async function prepareLongBatch(
  transactions: readonly Transaction[],
  { known, pausing }: {
    readonly known: KnownTasks;
    readonly pausing: Pausing;
  },
): Promise<PreparedBatch> {
  const prepared: PreparedWrite[][] = [];
  for (const { writes } of transactions) {
    const of: PreparedWrite[] = [];
    for (const write of writes) {
      of.push(prepareWrite(write, known));
      const pause = pausing.pause();
      if (pause !== undefined) await pause;
    }
    prepared.push(of);
  }
  return toBatch(transactions, prepared);
}

/**
 * Prepares a write.
 *
 * @throws {TypeError} as {@linkcode prepareBatch}
 */
export function prepareWrite(write: Write, known: KnownTasks): PreparedWrite {
  if (write.kind === "task") return prepareTask(write, known);
  if (write.kind === "record" && write.next !== undefined) {
    demandSame(write, write.next);
  }
  return write;
}

function toBatch(
  transactions: readonly Transaction[],
  prepared: readonly PreparedTransaction[],
): PreparedBatch {
  const [first] = transactions;
  let rows = 0;
  let chars = 0;
  for (const writes of prepared) {
    rows++;
    for (const write of writes) {
      rows += countRows(write);
      chars += charsOf(write);
    }
  }
  return {
    tenant: first === undefined ? "" : tenantOfTransaction(first),
    transactions: transactions.length,
    rows,
    chars,
    prepared,
    isUnordered: prepared.every((writes) => writes.every(isFree)),
  };
}

/**
 * Whether a write inserts rows of its own. A key is another's as well, and two
 * transactions that insert the same keys in different orders lock each other
 * out.
 */
function isFree(write: PreparedWrite): boolean {
  return write.kind === "create" && write.key === undefined ||
    write.kind === "require" || write.kind === "usage" ||
    write.kind === "activity" ||
    // Requests with one key are handled one after the other.
    write.kind === "idempotency";
}

function countRows(write: PreparedWrite): number {
  return "history" in write
    ? 1 + write.history.length + (write.links?.length ?? 0)
    : 0;
}

function charsOf(write: PreparedWrite): number {
  switch (write.kind) {
    case "create":
    case "update":
    case "move":
    case "remove":
      return countChars(write);
    case "record":
      return 200 + (write.next?.text.length ?? 0);
    case "idempotency":
      return 300 + write.entry.body.length;
    case "audit":
      return 200 + write.entry.text.length;
    default:
      return 100;
  }
}
