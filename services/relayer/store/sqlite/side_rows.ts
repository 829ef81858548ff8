/**
 * Small things beside jobs and memories: clients' keys, nonces, rate windows and
 * blobs beyond restoring.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { KeyClaim, RateWindow } from "../store.ts";

/** Side rows of a database. */
export class SideRows {
  readonly #claim: StatementSync;
  readonly #claimed: StatementSync;
  readonly #addBadBlob: StatementSync;
  readonly #addNonce: StatementSync;
  readonly #nonces: StatementSync;
  readonly #putWindow: StatementSync;
  readonly #windows: StatementSync;

  /** Side rows of an open database. */
  constructor(db: DatabaseSync) {
    // A claim that has expired is as good as none.
    this.#claim = db.prepare(
      "INSERT INTO key_claims VALUES(?1, ?2, ?3, ?4, ?5) " +
        "ON CONFLICT(owner, key) DO UPDATE SET " +
        "fingerprint = ?3, job_ids = ?4, expires_ms = ?5 " +
        "WHERE key_claims.expires_ms <= ?6",
    );
    this.#claimed = db.prepare(
      "SELECT * FROM key_claims WHERE owner = ? AND key = ? AND expires_ms > ?",
    );
    this.#addBadBlob = db.prepare(
      "INSERT INTO bad_blobs VALUES(?, ?) ON CONFLICT DO NOTHING",
    );
    this.#addNonce = db.prepare(
      "INSERT INTO nonces VALUES(?, ?) ON CONFLICT DO NOTHING",
    );
    this.#nonces = db.prepare("SELECT nonce FROM nonces WHERE expires_ms > ?");
    this.#putWindow = db.prepare(
      "INSERT INTO rate_windows VALUES(?, ?, ?) " +
        "ON CONFLICT(minute, name) DO UPDATE SET points = excluded.points",
    );
    this.#windows = db.prepare(
      "SELECT minute, name, points FROM rate_windows WHERE minute >= ? " +
        "ORDER BY minute, name",
    );
  }

  /** Notes what a key stands for; false when it stands for something already. */
  claim(claim: KeyClaim, nowMs: number): boolean {
    const { owner, key, fingerprint, jobIds, expiresAtMs } = claim;
    const { changes } = this.#claim.run(
      owner,
      key,
      fingerprint,
      JSON.stringify(jobIds),
      expiresAtMs,
      nowMs,
    );
    return Number(changes) > 0;
  }

  /** What a key stands for. */
  claimOf(owner: string, key: string, nowMs: number): KeyClaim | undefined {
    const row = this.#claimed.get(owner, key, nowMs);
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
    this.#addBadBlob.run(owner, blobId);
  }

  /** Notes a nonce. */
  addNonce(nonce: string, expiresAtMs: number): void {
    this.#addNonce.run(expiresAtMs, nonce);
  }

  /** Nonces that have not expired. */
  nonces(nowMs: number): readonly string[] {
    return this.#nonces.all(nowMs).map((row) => String(row["nonce"]));
  }

  /** Keeps a rate window, in place of the one of its name and minute. */
  putWindow({ name, minute, points }: RateWindow): void {
    this.#putWindow.run(minute, name, points);
  }

  /** Rate windows from a minute on. */
  windows(fromMinute: number): readonly RateWindow[] {
    return this.#windows.all(fromMinute).map((row) => ({
      name: String(row["name"]),
      minute: Number(row["minute"]),
      points: Number(row["points"]),
    }));
  }
}
