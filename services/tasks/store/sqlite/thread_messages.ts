/**
 * What the serving thread and the one that writes send to each other: requests and
 * answers, and operations as flat lists of plain values, which are the cheapest to
 * hand over.
 *
 * @module
 */

import type { ProofKey } from "../../secrets/master_keys.ts";
import type { Durability } from "./database_file.ts";
import type { CountFault } from "./task_counts.ts";

/** A request to the writing thread; they are answered in their order. */
export type WriterRequest =
  /** Open the database and bring its tables up to date. */
  | {
    readonly kind: "open";
    readonly path: string;
    readonly durability: Durability;
    readonly nowMs: number;
    readonly proofKeys: readonly ProofKey[];
  }
  /** Apply transactions in one commit. */
  | {
    readonly kind: "apply";
    readonly lists: readonly (readonly OperationValue[])[];
  }
  /** Remove what has expired. */
  | { readonly kind: "sweep"; readonly nowMs: number; readonly limit: number }
  /** Put counts of tasks right. */
  | { readonly kind: "repair_counts"; readonly faults: readonly CountFault[] }
  /** Write something that changes nothing, to see whether it can be written. */
  | { readonly kind: "probe" }
  /** Close the database. */
  | { readonly kind: "close" };

/** An answer of the writing thread. */
export type WriterAnswer =
  /**
   * Numbers of {@linkcode WriterRequest}: results of transactions, or of
   * removed rows.
   */
  | { readonly kind: "done"; readonly numbers: readonly number[] }
  /** Transactions were applied and are durable. */
  | ({ readonly kind: "applied" } & Applied)
  /** It failed; nothing was written. */
  | { readonly kind: "failed"; readonly message: string };

/** What the writing thread tells unasked: the log of commits could not be moved. */
export interface LogFault {
  /** Tells it from an answer. */
  readonly kind: "log_fault";
  /** Why. */
  readonly message: string;
}

/** The outcome of applying transactions. */
export interface Applied {
  /** The result of each transaction; none means that all were applied. */
  readonly codes: readonly number[];
  /** Milliseconds that all but the commit took. */
  readonly workMs: number;
  /** Milliseconds that the commit took, however much there was to commit. */
  readonly commitMs: number;
}

/** A value in a list of operations. */
export type OperationValue = string | number | null;

/**
 * What an operation does. The values that follow each are those that
 * `encode_batch.ts` writes and `group_applier.ts` reads.
 */
export const OPERATION = {
  /**
   * A transaction begins: number of writes, its {@linkcode TRANSACTION_FORM},
   * its length.
   */
  transaction: 1,
  /** A tenant's number. */
  nameTenant: 2,
  /** A worker's number. */
  nameQueue: 3,
  /** Inserts or updates a task. */
  putTask: 4,
  /** Removes a task. */
  removeTask: 5,
  /** Inserts or updates a record. */
  putRecord: 6,
  /** Removes a record. */
  removeRecord: 7,
  /** Requires a record. */
  requireRecord: 8,
  /** Keeps an answer. */
  putAnswer: 9,
  /** Adds to the audit log. */
  addAudit: 10,
  /** Counts use. */
  addUsage: 11,
  /** Changes a task and drops the oldest records of its history. */
  putFoldedTask: 12,
} as const;

/** Forms of transactions, which decide how they are applied. */
export const TRANSACTION_FORM = {
  /** No write that may conflict follows a change. */
  straight: 0,
  /** A write that may conflict follows a change, which would have to be undone. */
  undoable: 1,
  /** A new task without dependencies, and required records before it. */
  creation: 2,
} as const;

/** The reasons of conflicts, in the order of their numbers. */
export const CONFLICT_REASONS = [
  "version",
  "key",
  "alias",
  "missing",
  "idempotency",
] as const;

/** Why a write did not fit. */
export type ConflictReason = typeof CONFLICT_REASONS[number];

/** The code of a transaction that was applied. */
export const APPLIED = 0;

const REASON_COUNT = CONFLICT_REASONS.length;

/** The code of a conflict. */
export function conflictCode(write: number, reason: ConflictReason): number {
  return 1 + write * REASON_COUNT + CONFLICT_REASONS.indexOf(reason);
}

/** The conflict of a code. */
export function conflictOf(
  code: number,
): { readonly write: number; readonly reason: ConflictReason } {
  const reason = CONFLICT_REASONS[(code - 1) % REASON_COUNT] ?? "version";
  return { write: Math.floor((code - 1) / REASON_COUNT), reason };
}

/** Reads a list of operations from its beginning to its end. */
export class OperationCursor {
  readonly #values: readonly OperationValue[];
  #index = 0;

  /** A cursor at the beginning. */
  constructor(values: readonly OperationValue[]) {
    this.#values = values;
  }

  /** Whether nothing is left. */
  get isAtEnd(): boolean {
    return this.#index >= this.#values.length;
  }

  /** Where it stands. */
  get index(): number {
    return this.#index;
  }

  /** Goes on from another place. */
  moveTo(index: number): void {
    this.#index = index;
  }

  /** Takes the next values as they are. */
  take(count: number): OperationValue[] {
    const from = this.#index;
    this.#index += count;
    return this.#values.slice(from, this.#index);
  }

  /** Takes one value. */
  next(): OperationValue {
    const value = this.#values[this.#index++];
    if (value === undefined) {
      throw new TypeError("Cannot read an operation: the list ends in it");
    }
    return value;
  }

  /** Takes a number. */
  number(): number {
    const value = this.next();
    if (typeof value === "number") return value;
    throw new TypeError(
      `Cannot read an operation: no number at ${this.#index}`,
    );
  }

  /** Takes a text. */
  text(): string {
    const value = this.next();
    if (typeof value === "string") return value;
    throw new TypeError(`Cannot read an operation: no text at ${this.#index}`);
  }
}
