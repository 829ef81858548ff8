/**
 * Removes what can no longer be asked for.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ExpiredRows } from "../../../shared/sqlite/expired_rows.ts";
import type { RelayerStore } from "../store.ts";

/** What is old enough to go. */
type SweepBounds = Parameters<RelayerStore["sweep"]>[0];

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
      from: "nonces",
      key: ["expires_ms", "nonce"],
      where: "expires_ms <= ?",
    });
    this.#claims = new ExpiredRows(db, {
      from: "key_claims",
      key: ["owner", "key"],
      where: "expires_ms <= ?",
    });
    this.#windows = new ExpiredRows(db, {
      from: "rate_windows",
      key: ["minute", "name"],
      where: "minute < ?",
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
