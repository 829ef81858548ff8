/**
 * Removal of records of histories, the only ones that ever go.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { OperationValue } from "./operation.ts";

/**
 * Most records of a history that are removed together with their task; of a
 * longer one the rest is left to sweeping.
 */
const MAX_REMOVED_RECORDS = 1_000;

/** Removes records. What waits to be written must have been written before. */
export class HistoryRemover {
  readonly #lastSeq: StatementSync;
  readonly #removeEnd: StatementSync;
  readonly #removeBeginning: StatementSync;
  readonly #leaveToSweeping: StatementSync;
  readonly #holdNumber: StatementSync;

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#lastSeq = db.prepare(
      "SELECT max(seq) AS seq FROM history WHERE n = ?",
    );
    this.#removeEnd = db.prepare("DELETE FROM history WHERE n = ? AND seq > ?");
    this.#removeBeginning = db.prepare(
      "DELETE FROM history WHERE n = ? AND seq <= ?",
    );
    this.#leaveToSweeping = db.prepare(
      "INSERT OR IGNORE INTO removed_histories VALUES(?)",
    );
    this.#holdNumber = db.prepare(
      "INSERT OR IGNORE INTO history VALUES(?, 1, '', '')",
    );
  }

  /** Removes the records up to `through`, that one among them. */
  fold(n: OperationValue, through: OperationValue): void {
    this.#removeBeginning.run(n, through);
  }

  /** Removes the history of a task that is removed, a long one by and by. */
  remove(n: OperationValue): void {
    // From its end: while the beginning is there, no other task of that number
    // can begin a history.
    const last = this.#lastOf(n) ?? 0;
    const left = Math.max(0, last - MAX_REMOVED_RECORDS);
    this.#removeEnd.run(n, left);
    if (left === 0 || this.#lastOf(n) === undefined) return;
    this.#leaveToSweeping.run(n);
    // One that was folded has no beginning.
    this.#holdNumber.run(n);
  }

  #lastOf(n: OperationValue): number | undefined {
    const seq = this.#lastSeq.get(n)?.["seq"];
    return typeof seq === "number" ? seq : undefined;
  }
}
