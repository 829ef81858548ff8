/**
 * The messages between the serving thread and the thread that writes: requests,
 * answers, and operations as flat lists of plain values, which are the cheapest
 * to transfer.
 *
 * @module
 */

import type { Applied } from "../../../shared/commit_queue.ts";
import type { Durability } from "./database_file.ts";

/** A request to the writing thread, which answers requests in their order. */
export type WriterRequest =
  /** Open the database and bring its tables up to date. */
  | {
    readonly kind: "open";
    readonly path: string;
    readonly durability: Durability;
    readonly nowMs: number;
  }
  /** Apply transactions in one commit. */
  | {
    readonly kind: "apply";
    readonly lists: readonly OperationList[];
  }
  /** Remove expired entries and the histories left to sweeping. */
  | { readonly kind: "sweep"; readonly nowMs: number; readonly limit: number }
  /** Remove the oldest entries of an audit log; `tenant` is its number. */
  | {
    readonly kind: "trim_audit";
    readonly tenant: number;
    readonly beforeMs: number;
    readonly limit: number;
  }
  /** Count all pages and the free ones; 1 follows when they can be given back. */
  | { readonly kind: "count_pages" }
  /**
   * Give so many free pages back, or as many as can be within a time; answers
   * the milliseconds that it took, and both counts.
   */
  | {
    readonly kind: "give_back";
    readonly pages: number;
    readonly withinMs: number;
  }
  /** Move the log of commits to the file, which may get shorter by that. */
  | { readonly kind: "move_log" }
  /** Correct the counts of tasks. */
  | { readonly kind: "repair_counts"; readonly faults: readonly CountFault[] }
  /** Write something that changes no data, to check whether writing works. */
  | { readonly kind: "probe" }
  /** Close the database. */
  | { readonly kind: "close" };

/** A stored count that is wrong. */
export interface CountFault {
  /** The tenant's number. */
  readonly tenant: number;
  /** The number of the worker's queue. */
  readonly queueId: number;
  /** The status's number. */
  readonly status: number;
  /** The job whose count it is; undefined for that of all jobs. */
  readonly job?: string | undefined;
  /** How much has to be added to the stored count. */
  readonly delta: number;
}

/** An answer of the writing thread. */
export type WriterAnswer =
  /**
   * The numbers that a {@linkcode WriterRequest} asks for: results of
   * transactions, or the number of removed rows.
   */
  | { readonly kind: "done"; readonly numbers: readonly number[] }
  /** Transactions were applied and are durable. */
  | ({ readonly kind: "applied" } & Applied)
  /** The request failed; nothing was written. */
  | { readonly kind: "failed"; readonly message: string };

/**
 * A message that the writing thread sends by itself: the log of commits could
 * not be moved.
 */
export interface LogFault {
  /** Distinguishes the message from an answer. */
  readonly kind: "log_fault";
  /** The reason. */
  readonly message: string;
}

/** A value in a list of operations. */
export type OperationValue = string | number | null;

/**
 * A list of operations. A long one is packed, since a hundred thousand values
 * would hold up the thread that sends them.
 */
export type OperationList = readonly OperationValue[] | PackedOperations;

/** A long list of operations. */
interface PackedOperations {
  /** The values in order: bytes of arrays in JSON, which are moved, not copied. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** Packs some of the values of a list. */
export function packed(
  values: readonly OperationValue[],
): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(values));
}

/** The values of a list of operations. */
export function decodeValues(list: OperationList): readonly OperationValue[] {
  if (!("pieces" in list)) return list;
  const decoder = new TextDecoder();
  const values: OperationValue[] = [];
  for (const piece of list.pieces) {
    for (const value of JSON.parse(decoder.decode(piece))) values.push(value);
  }
  return values;
}

/**
 * The kinds of operations. `encode_batch.ts` writes the values that follow
 * each, and `group_applier.ts` reads them.
 */
export const OPERATION = {
  /**
   * Begins a transaction; followed by its number of writes, its
   * {@linkcode TRANSACTION_FORM} and its length.
   */
  transaction: 1,
  /** Stores the number of a tenant. */
  nameTenant: 2,
  /** Stores the number of a worker's queue. */
  nameQueue: 3,
  /** Inserts or updates a task. */
  putTask: 4,
  /** Removes a task. */
  removeTask: 5,
  /** Inserts or updates a record. */
  putRecord: 6,
  /** Removes a record. */
  removeRecord: 7,
  /** Requires that a record exists. */
  requireRecord: 8,
  /** Stores an answer. */
  putAnswer: 9,
  /** Adds an entry to the audit log. */
  addAudit: 10,
  /** Adds to the usage counts. */
  addUsage: 11,
  /** Changes a task and removes the oldest records of its history. */
  putFoldedTask: 12,
  /** Requires that a tenant may have so many more live tasks. */
  requireRoom: 13,
  /** Counts a start for a rate. */
  addStart: 14,
  /** Has the events of a tenant kept. */
  listen: 15,
  /** Adds an event, if the tenant's events are kept. */
  addEvent: 16,
  /** Adds to the activity of a span of time. */
  addActivity: 17,
} as const;

/** The forms of transactions, which decide how they are applied. */
export const TRANSACTION_FORM = {
  /** After a change, no write follows that may conflict. */
  straight: 0,
  /**
   * After a change, a write follows that may conflict, so the change may have
   * to be undone.
   */
  undoable: 1,
  /**
   * The transaction creates a task without dependencies, after required
   * records.
   */
  creation: 2,
} as const;

/** Reads a list of operations in order. */
export class OperationCursor {
  readonly #values: readonly OperationValue[];
  #index = 0;

  /** Starts at the beginning of a list. */
  constructor(values: readonly OperationValue[]) {
    this.#values = values;
  }

  /** Whether all values were read. */
  get isAtEnd(): boolean {
    return this.#index >= this.#values.length;
  }

  /** The position of the next value. */
  get index(): number {
    return this.#index;
  }

  /** Continues at another position. */
  moveTo(index: number): void {
    this.#index = index;
  }

  /** Reads the next values, of any type. */
  take(count: number): OperationValue[] {
    const from = this.#index;
    this.#index += count;
    return this.#values.slice(from, this.#index);
  }

  /** Reads a value. */
  next(): OperationValue {
    const value = this.#values[this.#index++];
    if (value === undefined) {
      throw new TypeError("Cannot read an operation: the list ends in it");
    }
    return value;
  }

  /** Reads a number. */
  number(): number {
    const value = this.next();
    if (typeof value === "number") return value;
    throw new TypeError(
      `Cannot read an operation: no number at ${this.#index}`,
    );
  }

  /** Reads a text. */
  text(): string {
    const value = this.next();
    if (typeof value === "string") return value;
    throw new TypeError(`Cannot read an operation: no text at ${this.#index}`);
  }
}
