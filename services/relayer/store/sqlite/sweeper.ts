/**
 * Removes what nobody can ask for any more.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RelayerStore } from "../store.ts";

/** What is old enough to go. */
export type SweepBounds = Parameters<RelayerStore["sweep"]>[0];

/** Rate limits look back an hour; twice that is surely over. */
const WINDOW_MINUTES = 120;
const MINUTE_MS = 60_000;

/** Sweeps a database, within a transaction. */
export class Sweeper {
  readonly #nonces: ExpiredRows;
  readonly #claims: ExpiredRows;
  readonly #windows: ExpiredRows;
  readonly #payloads: StatementSync;
  readonly #jobs: StatementSync;
  readonly #tombstones: StatementSync;
  readonly #noteSwept: StatementSync;

  /** A sweeper for an open database. */
  constructor(db: DatabaseSync) {
    this.#nonces = new ExpiredRows(db, {
      table: "nonces",
      columns: ["expires_ms", "nonce"],
      expired: "expires_ms <= ?",
    });
    this.#claims = new ExpiredRows(db, {
      table: "key_claims",
      columns: ["owner", "key"],
      expired: "expires_ms <= ?",
    });
    this.#windows = new ExpiredRows(db, {
      table: "rate_windows",
      columns: ["minute", "name"],
      expired: "minute < ?",
    });
    const old = "SELECT n FROM jobs WHERE status >= 3 AND updated_ms < ? " +
      "ORDER BY updated_ms LIMIT ?";
    this.#payloads = db.prepare(`DELETE FROM payloads WHERE n IN (${old})`);
    this.#jobs = db.prepare(`DELETE FROM jobs WHERE n IN (${old})`);
    this.#tombstones = db.prepare(
      "DELETE FROM tombstones WHERE (owner, id) IN (" +
        "SELECT owner, id FROM tombstones WHERE deleted_ms < ? " +
        "ORDER BY deleted_ms LIMIT ?) RETURNING owner, change",
    );
    this.#noteSwept = db.prepare(
      "INSERT INTO owners(owner, swept_change) VALUES(?, ?) " +
        "ON CONFLICT(owner) DO UPDATE SET " +
        "swept_change = max(swept_change, excluded.swept_change)",
    );
  }

  /** Removes rows up to the bound and returns how many it were. */
  sweep(bounds: SweepBounds): number {
    const { nowMs, finishedJobsBeforeMs, limit } = bounds;
    const oldestMinute = Math.floor(nowMs / MINUTE_MS) - WINDOW_MINUTES;
    let left = limit;
    left -= this.#nonces.remove(nowMs, left);
    left -= this.#claims.remove(nowMs, left);
    left -= this.#windows.remove(oldestMinute, left);
    left -= this.#sweepJobs(finishedJobsBeforeMs, left);
    left -= this.#sweepTombstones(bounds.tombstonesBeforeMs, left);
    return limit - left;
  }

  #sweepJobs(beforeMs: number, limit: number): number {
    // Both see the same jobs: the payloads go first, the jobs after them.
    this.#payloads.run(beforeMs, limit);
    return Number(this.#jobs.run(beforeMs, limit).changes);
  }

  #sweepTombstones(beforeMs: number, limit: number): number {
    const swept = this.#tombstones.all(beforeMs, limit);
    const highest = new Map<string, number>();
    for (const row of swept) {
      const [owner, change] = [String(row["owner"]), Number(row["change"])];
      highest.set(owner, Math.max(change, highest.get(owner) ?? 0));
    }
    for (const [owner, change] of highest) this.#noteSwept.run(owner, change);
    return swept.length;
  }
}

/** What rows expire by. */
interface ExpiredRowsOptions {
  readonly table: string;
  /** The columns of its key. */
  readonly columns: readonly [string, string];
  /** What holds of those that have expired. */
  readonly expired: string;
}

/**
 * Rows that have expired. They are found first and removed one by one: in one
 * statement, with `IN`, the database would look at all rows of the table.
 */
class ExpiredRows {
  readonly #find: StatementSync;
  readonly #remove: StatementSync;

  constructor(
    db: DatabaseSync,
    { table, columns: [first, second], expired }: ExpiredRowsOptions,
  ) {
    this.#find = db.prepare(
      `SELECT ${first} AS first, ${second} AS second FROM ${table} ` +
        `WHERE ${expired} LIMIT ?`,
    );
    this.#remove = db.prepare(
      `DELETE FROM ${table} WHERE ${first} = ? AND ${second} = ?`,
    );
  }

  remove(bound: number, limit: number): number {
    const rows = this.#find.all(bound, limit);
    for (const { first = null, second = null } of rows) {
      this.#remove.run(first, second);
    }
    return rows.length;
  }
}
