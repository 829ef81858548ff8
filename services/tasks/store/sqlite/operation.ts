/**
 * Operations on their way from the thread that serves to the thread that writes:
 * flat lists of plain values, which are the cheapest to hand over.
 *
 * @module
 */

/** A value in a list of operations. */
export type OperationValue = string | number | null;

/**
 * What an operation does. The values that follow each are those that
 * `encode_batch.ts` writes and `group_applier.ts` reads.
 */
export const OPERATION = {
  /** A transaction begins: number of writes, its {@linkcode TRANSACTION_FORM}, its length. */
  transaction: 1,
  /** A tenant's number. */
  nameTenant: 2,
  /** A worker's number. */
  nameLane: 3,
  /** Puts or changes a task. */
  putTask: 4,
  /** Removes a task. */
  removeTask: 5,
  /** Puts or changes a record. */
  putRecord: 6,
  /** Removes a record. */
  removeRecord: 7,
  /** Demands a record. */
  requireRecord: 8,
  /** Remembers an answer. */
  putAnswer: 9,
  /** Adds to the audit log. */
  addAudit: 10,
  /** Counts use. */
  addUsage: 11,
  /** Changes a task and drops the oldest records of its history. */
  putFoldedTask: 12,
} as const;

/** What is known of a transaction beforehand. */
export const TRANSACTION_FORM = {
  /** Nothing that may conflict comes after a change. */
  straight: 0,
  /** Something that may conflict comes after a change, which is to be undone. */
  undoable: 1,
  /** A new task with nothing unusual about it, and demands before it. */
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
