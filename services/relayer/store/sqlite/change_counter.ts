/**
 * The numbers of changes, each greater than any before.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Numbers for each millisecond that a database might have been used. */
const NUMBERS_PER_MS = 1_024;

/**
 * Gives numbers to changes. A new database begins at a number that comes from
 * the time of day, so that whoever remembers a number of a database that was
 * lost is seen to be behind the first number of the one that took its place.
 */
export class ChangeCounter {
  readonly #write: StatementSync;
  readonly #first: number;
  #last: number;
  #written: number;

  /** The counter of an open database. */
  constructor(db: DatabaseSync, nowMs: number) {
    db.prepare(
      "INSERT INTO numbers VALUES('first_change', ?1), ('last_change', ?1) " +
        "ON CONFLICT DO NOTHING",
    ).run(Math.max(0, nowMs) * NUMBERS_PER_MS);
    this.#write = db.prepare(
      "UPDATE numbers SET value = ? WHERE name = 'last_change'",
    );
    const read = db.prepare("SELECT value FROM numbers WHERE name = ?");
    this.#first = Number(read.get("first_change")?.["value"]);
    this.#last = Number(read.get("last_change")?.["value"]);
    this.#written = this.#last;
  }

  /** All numbers of this database are greater. */
  get first(): number {
    return this.#first;
  }

  /** The highest number that was given. */
  get last(): number {
    return this.#last;
  }

  /** The next number. */
  next(): number {
    this.#last++;
    return this.#last;
  }

  /** Writes the highest number; to be called at the end of a transaction. */
  write(): void {
    if (this.#last === this.#written) return;
    this.#write.run(this.#last);
    this.#written = this.#last;
  }
}
