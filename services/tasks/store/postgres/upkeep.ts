/**
 * Removes what has expired, folds the counts that were added, and proves them.
 * No commit but that of the proof waits for the disk or a standby: what is lost
 * is removed, or folded, again.
 *
 * @module
 */

import { type Pool, UNAWAITED } from "../../../shared/postgres/pool.ts";
import type { AuditTrim } from "../queries.ts";
import { sweepEvents } from "./event_log.ts";

/** The most rows that are folded in one transaction. */
const MAX_FOLDED = 5_000;

/** A table of rows that are only added, and the one they are folded into. */
interface Folded {
  readonly deltas: string;
  readonly sums: string;
  /** The columns of the key. */
  readonly key: string;
  readonly sum: string;
}

const FOLDED: readonly Folded[] = [
  {
    deltas: "count_deltas",
    sums: "task_counts",
    key: "tenant, lane, status",
    sum: "count",
  },
  {
    deltas: "usage_deltas",
    sums: "usage",
    key: "tenant, period",
    sum: "executions",
  },
];

/**
 * Folds what was added to counts, in transactions of their own. Instances that
 * do so at once take different rows; those of the sums are locked in the same
 * order.
 *
 * @returns how many rows were folded
 */
export async function foldDeltas(pool: Pool): Promise<number> {
  let folded = 0;
  for (const { deltas, sums, key, sum } of FOLDED) {
    while (true) {
      const [row] = await pool.query<{ taken: number }>(
        `WITH taken AS (DELETE FROM ${deltas} WHERE ctid = ANY(ARRAY(` +
          `SELECT ctid FROM ${deltas} LIMIT $1::bigint ` +
          `FOR UPDATE SKIP LOCKED)) RETURNING ${key}, ${sum}), ` +
          `put AS (INSERT INTO ${sums} AS there(${key}, ${sum}) ` +
          `SELECT ${key}, sum(${sum}) FROM taken WHERE ${UNAWAITED} ` +
          `GROUP BY ${key} ` +
          `ORDER BY ${key} ON CONFLICT (${key}) DO UPDATE ` +
          `SET ${sum} = there.${sum} + excluded.${sum}) ` +
          "SELECT count(*) AS taken FROM taken",
        [MAX_FOLDED],
      );
      const taken = row?.taken ?? 0;
      folded += taken;
      if (taken < MAX_FOLDED) break;
    }
  }
  return folded;
}

/** The counts of a tenant that differ from its tasks, in one state of both. */
export const WRONG_COUNTS: string =
  "SELECT tenant, lane, status, sum(kept)::bigint AS kept, " +
  "sum(there)::bigint AS there FROM (" +
  "SELECT tenant, lane, status, count AS kept, 0 AS there " +
  "FROM task_counts WHERE tenant = $1::integer UNION ALL " +
  "SELECT tenant, lane, status, count, 0 " +
  "FROM count_deltas WHERE tenant = $1::integer UNION ALL " +
  "SELECT tenant, lane, status, 0, count(*) FROM task_state " +
  "WHERE tenant = $1::integer GROUP BY tenant, lane, status) AS counts " +
  "GROUP BY tenant, lane, status HAVING sum(kept) <> sum(there)";

/**
 * Counts all tasks, tenant by tenant, and adds what the stored counts lack. Each
 * tenant is counted in one state of the database, and what is added holds
 * however the counts go on.
 *
 * @returns how many counts were wrong
 */
export async function proveCounts(pool: Pool): Promise<number> {
  let faults = 0;
  let after = 0;
  while (true) {
    const [next] = await pool.query<{ tenant: number }>(
      "SELECT tenant FROM tenants WHERE tenant > $1::integer " +
        "ORDER BY tenant LIMIT 1",
      [after],
    );
    if (next === undefined) return faults;
    after = next.tenant;
    const wrong = await pool.query(
      "INSERT INTO count_deltas(tenant, lane, status, count) " +
        `SELECT tenant, lane, status, there - kept FROM (${WRONG_COUNTS}) ` +
        "AS wrong RETURNING lane",
      [after],
    );
    faults += wrong.length;
  }
}

/** Tables of rows that expire. */
const EXPIRING = ["idempotency", "starts", "inbox_refused"];

/** Removes at most `limit` expired rows and events, and returns how many. */
export async function sweepExpired(
  pool: Pool,
  nowMs: number,
  limit: number,
): Promise<number> {
  let removed = 0;
  for (const table of EXPIRING) {
    const { count } = await pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid ` +
        `FROM ${table} WHERE expires_ms <= $1::bigint ORDER BY expires_ms ` +
        `LIMIT $2::bigint FOR UPDATE SKIP LOCKED)) AND ${UNAWAITED}`,
      [nowMs, limit - removed],
    );
    removed += count ?? 0;
  }
  return removed + await sweepEvents(pool, nowMs, limit - removed);
}

/**
 * Removes the oldest entries of a tenant's audit log that are from before an
 * instant, and returns how many. The last entry stays.
 */
export async function trimAudit(
  pool: Pool,
  { tenantId, beforeMs, limit }: AuditTrim,
): Promise<number> {
  const removed = await pool.query(
    "WITH of AS (SELECT tenant FROM tenants WHERE id = $1::text), " +
      "oldest AS (SELECT number, at_ms FROM audit " +
      "WHERE tenant = (SELECT tenant FROM of) ORDER BY number " +
      "LIMIT $3::bigint + 1), " +
      // The first that stays: a young one, or the last of those that were read.
      "stays AS (SELECT coalesce(min(number) FILTER (WHERE " +
      "at_ms >= $2::bigint), max(number)) AS number FROM oldest) " +
      "DELETE FROM audit WHERE tenant = (SELECT tenant FROM of) AND " +
      `number < (SELECT number FROM stays) AND ${UNAWAITED}`,
    [tenantId, beforeMs, limit],
  );
  return removed.count ?? 0;
}
