/**
 * Removes what has expired, folds the counts that were added, and proves them.
 * No commit but that of the proof waits for the disk or a standby: what is lost
 * is removed, or folded, again.
 *
 * @module
 */

import { type Pool, UNAWAITED } from "../../../shared/postgres/pool.ts";
import { ACTIVITY_COLUMNS, MAX_COLUMN } from "../kept_counts.ts";
import type { AuditTrim } from "../queries.ts";
import { sweepEvents } from "./event_log.ts";

/** The most rows that are folded in one transaction. */
const MAX_FOLDED = 5_000;

/** A table of rows that are only added, and those they are folded into. */
interface Folded {
  readonly deltas: string;
  readonly into: readonly Sums[];
}

/** A table of sums. */
interface Sums {
  readonly table: string;
  /** The columns of the key; rows without one of them are left out. */
  readonly key: string;
  /** The columns that are added up. */
  readonly sums: readonly string[];
  /** The columns of which the largest value stays. */
  readonly largest?: readonly string[];
}

const FOLDED: readonly Folded[] = [
  {
    deltas: "count_deltas",
    into: [
      { table: "task_counts", key: "tenant, lane, status", sums: ["count"] },
      // Programs of earlier versions add deltas without a job.
      {
        table: "job_counts",
        key: "tenant, lane, status, job",
        sums: ["count"],
      },
    ],
  },
  {
    deltas: "usage_deltas",
    into: [{ table: "usage", key: "tenant, period", sums: ["executions"] }],
  },
  {
    deltas: "activity_deltas",
    into: [{
      table: "activity",
      key: "tenant, worker, job, step_ms, at_ms",
      sums: ACTIVITY_COLUMNS.map(([, column]) => column)
        .filter((column) => column !== MAX_COLUMN),
      largest: [MAX_COLUMN, "expires_ms"],
    }],
  },
];

/** The part of a statement that adds the rows taken to a table of sums. */
function foldSql({ table, key, sums, largest = [] }: Sums): string {
  const columns = [...sums, ...largest].join(", ");
  const values = [
    ...sums.map((name) => `sum(${name})`),
    ...largest.map((name) => `max(${name})`),
  ].join(", ");
  const set = [
    ...sums.map((name) => `${name} = there.${name} + excluded.${name}`),
    ...largest.map((name) =>
      `${name} = greatest(there.${name}, excluded.${name})`
    ),
  ].join(", ");
  const isWhole = key.split(", ").map((name) => `${name} IS NOT NULL`)
    .join(" AND ");
  return `INSERT INTO ${table} AS there(${key}, ${columns}) ` +
    `SELECT ${key}, ${values} FROM taken WHERE ${isWhole} GROUP BY ${key} ` +
    `ORDER BY ${key} ON CONFLICT (${key}) DO UPDATE SET ${set}`;
}

/**
 * Folds what was added to counts, in transactions of their own. Instances that
 * do so at once take different rows; those of the sums are locked in the same
 * order.
 *
 * @returns how many rows were folded
 */
export async function foldDeltas(pool: Pool): Promise<number> {
  let folded = 0;
  for (const { deltas, into } of FOLDED) {
    while (true) {
      const [row] = await pool.query<{ taken: number }>(
        `WITH taken AS (DELETE FROM ${deltas} WHERE ctid = ANY(ARRAY(` +
          `SELECT ctid FROM ${deltas} LIMIT $1::bigint ` +
          `FOR UPDATE SKIP LOCKED)) RETURNING *), ` +
          into.map((sums, index) => `put_${index} AS (${foldSql(sums)})`)
            .join(", ") +
          " SELECT count(*) AS taken FROM taken",
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
 * Corrects the counts of a tenant's jobs, of those workers and statuses whose
 * sum differs from the count of all jobs: only their tasks are read.
 */
const MEND_JOB_COUNTS = "WITH wrong AS (" +
  "SELECT lane, status FROM (" +
  "SELECT lane, status, count AS kept, 0 AS of_jobs " +
  "FROM task_counts WHERE tenant = $1::integer UNION ALL " +
  "SELECT lane, status, count, CASE WHEN job IS NULL THEN 0 ELSE count END " +
  "FROM count_deltas WHERE tenant = $1::integer UNION ALL " +
  "SELECT lane, status, 0, count FROM job_counts " +
  "WHERE tenant = $1::integer) AS counts " +
  "GROUP BY lane, status HAVING sum(kept) <> sum(of_jobs) " +
  // Programs of earlier versions give a task another job without a delta.
  "UNION SELECT lane, status FROM job_counts " +
  "WHERE tenant = $1::integer AND count < 0) " +
  "INSERT INTO job_counts AS there(tenant, lane, status, job, count) " +
  "SELECT $1::integer, lane, status, job, sum(count) FROM (" +
  "SELECT lane, status, job, count(*) AS count FROM task_state " +
  "JOIN wrong USING(lane, status) WHERE tenant = $1::integer " +
  "GROUP BY lane, status, job UNION ALL " +
  "SELECT lane, status, job, -count FROM job_counts " +
  "JOIN wrong USING(lane, status) WHERE tenant = $1::integer UNION ALL " +
  "SELECT lane, status, job, -count FROM count_deltas " +
  "JOIN wrong USING(lane, status) WHERE tenant = $1::integer AND " +
  "job IS NOT NULL) AS lacking GROUP BY lane, status, job " +
  "HAVING sum(count) <> 0 ORDER BY lane, status, job " +
  "ON CONFLICT (tenant, lane, status, job) " +
  "DO UPDATE SET count = there.count + excluded.count RETURNING 1";

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
    faults += (await pool.query(MEND_JOB_COUNTS, [after])).length;
  }
}

/** Tables of rows that expire. */
const EXPIRING = ["idempotency", "starts", "inbox_refused", "activity"];

/**
 * Removes at most `limit` rows and events that have expired, and rows that count
 * no tasks; returns how many.
 */
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
  const { count } = await pool.query(
    "DELETE FROM job_counts WHERE ctid = ANY(ARRAY(SELECT ctid " +
      "FROM job_counts WHERE count = 0 LIMIT $1::bigint " +
      "FOR UPDATE SKIP LOCKED))",
    [limit - removed],
  );
  removed += count ?? 0;
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
