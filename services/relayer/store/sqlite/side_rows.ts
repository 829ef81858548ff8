/**
 * Small tables beside jobs and memories: clients' idempotency keys, nonces,
 * rate windows and blobs that cannot be restored. Also sweeps expired rows of
 * all tables.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { ExpiredRows } from "../../../shared/sqlite/expired_rows.ts";
import type { KeyClaim, RateWindow } from "../rows.ts";
import type { RelayerStore } from "../store.ts";
import { WINDOWS } from "../row_columns.ts";
import { prepareAll, type Statements } from "./row_columns.ts";
import type { SnapshotRows } from "./snapshot_rows.ts";

const STATEMENTS = {
  // An expired claim is overwritten.
  claim: `INSERT INTO key_claims VALUES(?1, ?2, ?3, ?4, ?5)
    ON CONFLICT(owner, key) DO UPDATE SET
    fingerprint = ?3, job_ids = ?4, expires_ms = ?5
    WHERE key_claims.expires_ms <= ?6`,
  claimed: `SELECT * FROM key_claims
    WHERE owner = ? AND key = ? AND expires_ms > ?`,
  addBadBlob: "INSERT INTO bad_blobs VALUES(?, ?) ON CONFLICT DO NOTHING",
  addNonce: "INSERT INTO nonces VALUES(?, ?) ON CONFLICT DO NOTHING",
  nonces: "SELECT nonce FROM nonces WHERE expires_ms > ?",
  addPoints: `INSERT INTO rate_windows${WINDOWS.inserted}
    ON CONFLICT(minute, name) DO UPDATE SET points = points + excluded.points`,
  windows: `SELECT ${WINDOWS.selected} FROM rate_windows WHERE minute >= ?
    ORDER BY minute, name`,
  windowsOf: `SELECT ${WINDOWS.selected} FROM rate_windows
    WHERE minute IN (SELECT value FROM json_each(?))
    AND name IN (SELECT value FROM json_each(?))`,
};

/** Reads and writes the small tables. */
export class SideRows {
  readonly #statements: Statements<typeof STATEMENTS>;

  /** Prepares statements for an open database. */
  constructor(db: DatabaseSync) {
    this.#statements = prepareAll(db, STATEMENTS);
  }

  /**
   * Stores a claim; false when the owner's key has one that has not expired.
   */
  claim(claim: KeyClaim, nowMs: number): boolean {
    const { owner, key, fingerprint, jobIds, expiresAtMs } = claim;
    const { changes } = this.#statements.claim.run(
      owner,
      key,
      fingerprint,
      JSON.stringify(jobIds),
      expiresAtMs,
      nowMs,
    );
    return Number(changes) > 0;
  }

  /**
   * The claim of an owner's key; undefined when there is none or it has
   * expired.
   */
  findClaim(owner: string, key: string, nowMs: number): KeyClaim | undefined {
    const row = this.#statements.claimed.get(owner, key, nowMs);
    if (row === undefined) return undefined;
    return {
      owner,
      key,
      fingerprint: String(row["fingerprint"]),
      jobIds: JSON.parse(String(row["job_ids"])) as readonly string[],
      expiresAtMs: Number(row["expires_ms"]),
    };
  }

  /** Notes a blob that is beyond restoring. */
  addBadBlob(owner: string, blobId: string): void {
    this.#statements.addBadBlob.run(owner, blobId);
  }

  /** Notes a nonce; false when it is there, and expires at that instant. */
  addNonce(nonce: string, expiresAtMs: number): boolean {
    const { changes } = this.#statements.addNonce.run(expiresAtMs, nonce);
    return Number(changes) > 0;
  }

  /** Nonces that have not expired. */
  nonces(nowMs: number): readonly string[] {
    return this.#statements.nonces.all(nowMs).map((row) =>
      String(row["nonce"])
    );
  }

  /** Adds points to a rate window. */
  addPoints(window: RateWindow): void {
    this.#statements.addPoints.run(...WINDOWS.toValues(window));
  }

  /** Rate windows from a minute on. */
  windows(fromMinute: number): readonly RateWindow[] {
    return this.#statements.windows.all(fromMinute)
      .map((record) => WINDOWS.readRow(record));
  }

  /** Rate windows of some names in some minutes. */
  windowsOf(
    { names, minutes }: Parameters<RelayerStore["rateWindowsOf"]>[0],
  ): readonly RateWindow[] {
    const of = [JSON.stringify(minutes), JSON.stringify(names)];
    return this.#statements.windowsOf.all(...of)
      .map((record) => WINDOWS.readRow(record));
  }
}

/** The ages from which rows are removed, and most rows to remove. */
type SweepBounds = Parameters<RelayerStore["sweep"]>[0];

/**
 * How long rate windows stay: rate limits look back an hour; this is twice
 * that.
 */
const WINDOW_MINUTES = 120;
const MINUTE_MS = 60_000;

/** Selects jobs that ended long ago, the same ones in both statements. */
const OLD_JOBS = `SELECT n FROM jobs WHERE status >= 3 AND updated_ms < ?
  ORDER BY updated_ms LIMIT ?`;

const SWEEPING_STATEMENTS = {
  payloads: `DELETE FROM payloads WHERE n IN (${OLD_JOBS})`,
  jobs: `DELETE FROM jobs WHERE n IN (${OLD_JOBS})`,
  tombstones: `DELETE FROM tombstones WHERE (owner, id) IN (
    SELECT owner, id FROM tombstones WHERE deleted_ms < ?
    ORDER BY deleted_ms LIMIT ?) RETURNING owner, change`,
  noteSwept: `INSERT INTO owners(owner, swept_change) VALUES(?, ?)
    ON CONFLICT(owner) DO UPDATE SET
    swept_change = max(swept_change, excluded.swept_change)`,
};

/** Sweeps a database, within a transaction. */
export class Sweeper {
  readonly #statements: Statements<typeof SWEEPING_STATEMENTS>;
  readonly #nonces: ExpiredRows;
  readonly #claims: ExpiredRows;
  readonly #windows: ExpiredRows;
  readonly #snapshots: SnapshotRows;

  /** A sweeper for an open database. */
  constructor(db: DatabaseSync, snapshots: SnapshotRows) {
    this.#snapshots = snapshots;
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
    this.#statements = prepareAll(db, SWEEPING_STATEMENTS);
  }

  /**
   * Removes expired rows, at most `limit`; returns the number of removed rows.
   */
  sweep(bounds: SweepBounds): number {
    const { nowMs, finishedJobsBeforeMs, limit } = bounds;
    const oldestMinute = Math.floor(nowMs / MINUTE_MS) - WINDOW_MINUTES;
    let left = limit;
    left -= this.#nonces.remove(nowMs, left);
    left -= this.#claims.remove(nowMs, left);
    left -= this.#windows.remove(oldestMinute, left);
    left -= this.#sweepJobs(finishedJobsBeforeMs, left);
    left -= this.#sweepTombstones(bounds.tombstonesBeforeMs, left);
    left -= this.#snapshots.sweep(left);
    return limit - left;
  }

  #sweepJobs(beforeMs: number, limit: number): number {
    // Payloads are removed first: they are found by their jobs only.
    this.#statements.payloads.run(beforeMs, limit);
    return Number(this.#statements.jobs.run(beforeMs, limit).changes);
  }

  #sweepTombstones(beforeMs: number, limit: number): number {
    const swept = this.#statements.tombstones.all(beforeMs, limit);
    const highest = new Map<string, number>();
    for (const row of swept) {
      const [owner, change] = [String(row["owner"]), Number(row["change"])];
      highest.set(owner, Math.max(change, highest.get(owner) ?? 0));
    }
    for (const [owner, change] of highest) {
      this.#statements.noteSwept.run(owner, change);
    }
    return swept.length;
  }
}
