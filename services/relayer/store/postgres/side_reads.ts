/**
 * Reads the small tables: clients' idempotency keys, nonces, rate windows, blobs
 * that cannot be restored, and snapshots.
 *
 * @module
 */

import { readBytes } from "./long_bytes.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import { WINDOWS } from "../row_columns.ts";
import type { RelayerStore } from "../store.ts";

/** Reads the small tables. */
export class SideReads {
  readonly #pool: Pool;

  /** Takes the connections to use. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The claim of a client's key. */
  keyClaim: RelayerStore["keyClaim"] = async (owner, key, nowMs) => {
    const [row] = await this.#pool.query(
      "SELECT fingerprint, job_ids, expires_ms FROM key_claims " +
        "WHERE owner = $1::text AND key = $2::text AND expires_ms > $3::bigint",
      [owner, key, nowMs],
    );
    return row && {
      ...{ owner, key },
      fingerprint: String(row["fingerprint"]),
      jobIds: JSON.parse(String(row["job_ids"])) as readonly string[],
      expiresAtMs: Number(row["expires_ms"]),
    };
  };

  /** Those of some blobs that are noted as impossible to restore. */
  badBlobs: RelayerStore["badBlobs"] = async (owner, blobIds) => {
    const rows = await this.#pool.query(
      "SELECT blob_id FROM bad_blobs WHERE owner = $1::text " +
        "AND blob_id = ANY($2::text[])",
      [owner, blobIds],
    );
    return new Set(rows.map((row) => String(row["blob_id"])));
  };

  /** Nonces that have not expired. */
  nonces: RelayerStore["nonces"] = async (nowMs) => {
    const rows = await this.#pool.query(
      "SELECT nonce FROM nonces WHERE expires_ms > $1::bigint",
      [nowMs],
    );
    return rows.map((row) => String(row["nonce"]));
  };

  /** Rate windows from a minute on. */
  rateWindows: RelayerStore["rateWindows"] = async (fromMinute) => {
    const rows = await this.#pool.query(
      `SELECT ${WINDOWS.selected} FROM rate_windows ` +
        "WHERE minute >= $1::bigint ORDER BY rate_windows.minute, name",
      [fromMinute],
    );
    return rows.map((row) => WINDOWS.readRow(row));
  };

  /** Rate windows of some names in some minutes. */
  rateWindowsOf: RelayerStore["rateWindowsOf"] = async (
    { names, minutes },
  ) => {
    const rows = await this.#pool.query(
      `SELECT ${WINDOWS.selected} FROM rate_windows ` +
        "WHERE minute = ANY($1::bigint[]) AND name = ANY($2::text[])",
      [minutes, names],
    );
    return rows.map((row) => WINDOWS.readRow(row));
  };

  /** The whole snapshot of an owner's index. */
  snapshot: RelayerStore["snapshot"] = async (owner) => {
    const [row] = await this.#pool.query(
      "SELECT name, change, parts FROM index_snapshots " +
        "WHERE owner = $1::text AND parts > 0",
      [owner],
    );
    return row && {
      name: String(row["name"]),
      change: Number(row["change"]),
      parts: Number(row["parts"]),
    };
  };

  /** A part of a snapshot. */
  snapshotPart: RelayerStore["snapshotPart"] = (name, part) =>
    readBytes(this.#pool, {
      sql: "SELECT bytes FROM snapshot_parts " +
        "WHERE name = $1::text AND part = $2::integer",
      parameters: [name, part],
    });
}
