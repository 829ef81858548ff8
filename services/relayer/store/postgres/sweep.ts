/**
 * Removes rows that have expired. Instances that do so at once take different
 * rows. No commit waits for the disk or a standby, since a removal that is lost
 * is made again. Rows that others hold are left for the next time: a commit may
 * hold them for as long as it waits for a standby.
 *
 * @module
 */

import { UNAWAITED } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { RelayerStore } from "../store.ts";

type SweepBounds = Parameters<RelayerStore["sweep"]>[0];

/**
 * How long rate windows stay: rate limits look back an hour; this is twice
 * that.
 */
const WINDOW_MINUTES = 120;
const MINUTE_MS = 60_000;
/** Most parts of snapshots that one statement removes: each has many pages. */
const MAX_PARTS = 64;
/** How long the writing of a snapshot takes at most. */
const SNAPSHOT_MS = 3_600_000;

/** Tables of rows that are older than a bound in a column. */
const EXPIRING = [
  ["nonces", "expires_ms"],
  ["key_claims", "expires_ms"],
  ["rate_windows", "minute"],
  ["jobs", "finished_ms"],
] as const;

/** Removes at most `limit` rows, and returns how many. */
export async function sweep(
  runner: Runner,
  bounds: SweepBounds,
): Promise<number> {
  const { nowMs, limit } = bounds;
  // The first instant, or minute, that stays.
  const first = {
    nonces: nowMs + 1,
    key_claims: nowMs + 1,
    rate_windows: Math.floor(nowMs / MINUTE_MS) - WINDOW_MINUTES,
    jobs: bounds.finishedJobsBeforeMs,
  };
  let left = limit;
  for (const [table, column] of EXPIRING) {
    const { count } = await runner.query(
      `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid ` +
        `FROM ${table} WHERE ${column} < $1::bigint ORDER BY ${column} ` +
        `LIMIT $2::bigint FOR UPDATE SKIP LOCKED)) AND ${UNAWAITED}`,
      [first[table], left],
    );
    left -= count ?? 0;
  }
  left -= await sweepTombstones(runner, bounds.tombstonesBeforeMs, left);
  left -= await sweepParts(runner, nowMs, Math.min(left, MAX_PARTS));
  return limit - left;
}

/**
 * Removes old tombstones, and notes it with their owners, whose rows are locked
 * first as by all commits.
 */
async function sweepTombstones(
  runner: Runner,
  beforeMs: number,
  limit: number,
): Promise<number> {
  const [row] = await runner.query(
    "WITH old AS MATERIALIZED (SELECT owner, id, change FROM tombstones " +
      `WHERE deleted_ms < $1::bigint AND ${UNAWAITED} ` +
      "ORDER BY deleted_ms LIMIT $2::bigint), " +
      "held AS MATERIALIZED (SELECT owner FROM owners WHERE owner = ANY(" +
      "ARRAY(SELECT owner FROM old)) ORDER BY owner FOR UPDATE SKIP LOCKED), " +
      "gone AS (DELETE FROM tombstones AS there USING old " +
      "JOIN held ON held.owner = old.owner WHERE there.owner = old.owner " +
      "AND there.id = old.id AND there.change = old.change " +
      "RETURNING there.owner, there.change), " +
      "noted AS (UPDATE owners AS there SET swept_change = " +
      "greatest(there.swept_change, swept.change) FROM (SELECT owner, " +
      "max(change) AS change FROM gone GROUP BY owner) AS swept " +
      "WHERE there.owner = swept.owner) SELECT count(*) AS removed FROM gone",
    [beforeMs, limit],
  );
  return Number(row?.["removed"]);
}

/**
 * Removes parts of snapshots that were replaced, dropped or given up. Those of
 * one that is being written are of a name that its owner has.
 */
async function sweepParts(
  runner: Runner,
  nowMs: number,
  limit: number,
): Promise<number> {
  await runner.query(
    "DELETE FROM index_snapshots WHERE ctid = ANY(ARRAY(SELECT ctid " +
      "FROM index_snapshots WHERE parts = 0 AND begun_ms < $1::bigint " +
      `FOR UPDATE SKIP LOCKED)) AND ${UNAWAITED}`,
    [nowMs - SNAPSHOT_MS],
  );
  // Steps from name to name: there are many parts, but few names.
  const { count } = await runner.query(
    "DELETE FROM snapshot_parts WHERE ctid = ANY(ARRAY(" +
      "WITH RECURSIVE names AS ((SELECT name FROM snapshot_parts " +
      "ORDER BY name LIMIT 1) UNION ALL SELECT (SELECT name " +
      "FROM snapshot_parts WHERE name > names.name ORDER BY name LIMIT 1) " +
      "FROM names WHERE names.name IS NOT NULL), " +
      "orphans AS (SELECT name FROM names WHERE name IS NOT NULL AND " +
      "NOT EXISTS(SELECT 1 FROM index_snapshots AS there " +
      "WHERE there.name = names.name)) " +
      "SELECT part.ctid FROM orphans JOIN snapshot_parts AS part " +
      "ON part.name = orphans.name LIMIT $1::bigint " +
      `FOR UPDATE OF part SKIP LOCKED)) AND ${UNAWAITED}`,
    [limit],
  );
  return count ?? 0;
}
