/**
 * Reads what is counted as tasks change: activity, the longest queues, late
 * tasks and failing schedules.
 *
 * @module
 */

import { SqlBuilder } from "../../../shared/postgres/sql_builder.ts";
import { computePlacement } from "../../domain/placement.ts";
import type { Task, TaskStatus } from "../../domain/task.ts";
import {
  ACTIVITY_COLUMNS,
  type ActivityPoint,
  type ActivityQuery,
  addLate,
  type FailingTasksQuery,
  LATE_STATUSES,
  type LateCount,
  type LateTasks,
  type LateTasksQuery,
  MAX_COLUMN,
  type QueueCounts,
  readActivity,
  type TopCountsQuery,
} from "../kept_counts.ts";
import { decodeStatus, statusCode } from "../task_body.ts";
import type { InternedNames } from "./interned_names.ts";
import { type ReadParts, readTasks, selectFound } from "./task_rows.ts";

const ACTIVITY_SUMS = ACTIVITY_COLUMNS.map(([, column]) =>
  column === MAX_COLUMN
    ? `max(${column}) AS ${column}`
    : `sum(${column})::bigint AS ${column}`
).join(", ");

/** Reads what is counted as tasks change; see {@linkcode KeptCounts}. */
export class KeptReads {
  readonly #parts: ReadParts;
  readonly #names: InternedNames;

  /** Takes what reading needs. */
  constructor(parts: ReadParts, names: InternedNames) {
    this.#parts = parts;
    this.#names = names;
  }

  /** The activity of a tenant, by time: what was folded, and what came since. */
  async activity(
    { tenantId, series, stepMs, fromMs, toMs }: ActivityQuery,
  ): Promise<readonly ActivityPoint[]> {
    const tenant = await this.#names.tenant(tenantId);
    if (tenant === undefined) return [];
    const builder = new SqlBuilder();
    const where = `tenant = ${builder.add(tenant, "integer")} AND ` +
      `worker = ${builder.add(series.workerId, "text")} AND ` +
      `job = ${builder.add(series.job, "text")} AND ` +
      `step_ms = ${builder.add(stepMs, "bigint")} AND ` +
      `at_ms >= ${builder.add(fromMs, "bigint")} AND ` +
      `at_ms < ${builder.add(toMs, "bigint")}`;
    const columns = ACTIVITY_COLUMNS.map(([, column]) => column).join(", ");
    const all = ["activity", "activity_deltas"].map((table) =>
      `SELECT at_ms, ${columns} FROM ${table} WHERE ${where}`
    ).join(" UNION ALL ");
    const rows = await this.#parts.runner.query(
      `SELECT at_ms, ${ACTIVITY_SUMS} FROM (${all}) AS counted ` +
        "GROUP BY at_ms ORDER BY at_ms",
      builder.parameters,
    );
    return rows.map(readActivity);
  }

  /** The queues with the most tasks in any of some statuses. */
  async topCounts(
    { tenantId, by, statuses, limit }: TopCountsQuery,
  ): Promise<readonly QueueCounts[]> {
    const number = await this.#names.tenant(tenantId);
    if (number === undefined) return [];
    const builder = new SqlBuilder();
    const tenant = builder.add(number, "integer");
    const codes = builder.add(statuses.map(statusCode), "smallint[]");
    const most = builder.add(limit, "bigint");
    const [table, columns, key] = by === "job"
      ? ["job_counts", "lane, job", "lane, status, job"]
      : ["task_counts", "lane", "lane, status"];
    const isSame = (name: string): string =>
      `${name}.status = wanted.status AND ${name}.lane = top.lane` +
      (by === "job" ? ` AND ${name}.job = top.job` : "");
    const rows = await this.#parts.runner.query<
      { worker: string; job?: string; status: number; count: number }
    >(
      `WITH wanted AS (SELECT unnest(${codes}) AS status), ` +
        // Deltas that were not folded yet may be of any queue.
        `news AS MATERIALIZED (SELECT ${key}, sum(count) AS count ` +
        `FROM count_deltas WHERE tenant = ${tenant} AND ` +
        `status = ANY(${codes})${by === "job" ? " AND job IS NOT NULL" : ""} ` +
        `GROUP BY ${key}), top AS (SELECT ${columns} FROM wanted ` +
        `CROSS JOIN LATERAL (SELECT ${columns} FROM ${table} AS there WHERE ` +
        `tenant = ${tenant} AND there.status = wanted.status AND count > 0 ` +
        `ORDER BY count DESC LIMIT ${most}) AS first ` +
        `UNION SELECT ${columns} FROM news) ` +
        `SELECT * FROM (SELECT lanes.worker, ${
          by === "job" ? "top.job, " : ""
        }wanted.status, (coalesce((SELECT count FROM ${table} AS there ` +
        `WHERE tenant = ${tenant} AND ${isSame("there")}), 0) + ` +
        `coalesce((SELECT count FROM news WHERE ${isSame("news")}), 0)` +
        ")::bigint AS count FROM top CROSS JOIN wanted " +
        "JOIN lanes ON lanes.lane = top.lane) AS counted WHERE count > 0",
      builder.parameters,
    );
    return Array.from(
      Map.groupBy(rows, ({ worker, job }) => JSON.stringify([worker, job]))
        .values(),
      (some): QueueCounts => {
        const counts: Partial<Record<TaskStatus, number>> = {};
        for (const { status, count } of some) {
          counts[decodeStatus(status)] = count;
        }
        const { worker: workerId, job } = some[0]!;
        return { workerId, ...job === undefined ? {} : { job }, counts };
      },
    );
  }

  /** Late tasks of some workers. */
  async lateTasks(
    { tenantId, workerIds, beforeMs, limit, maxRead }: LateTasksQuery,
  ): Promise<readonly LateTasks[]> {
    const tenant = await this.#names.tenant(tenantId);
    if (tenant === undefined || workerIds.length === 0) return [];
    const builder = new SqlBuilder();
    const statuses = builder.add(LATE_STATUSES.map(statusCode), "smallint[]");
    const before = builder.add(beforeMs, "bigint");
    const late = (columns: string, most: number): string =>
      `(SELECT ${columns} FROM task_state AS state WHERE ` +
      "state.tenant = lanes.tenant AND state.lane = lanes.lane AND " +
      `state.status = late_of.status AND state.date_ms < ${before} ` +
      `ORDER BY date_ms LIMIT ${builder.add(most, "bigint")})`;
    const rows = await this.#parts.runner.query<
      {
        worker: string;
        job: string | null;
        count: number;
        since_ms: number;
      }
    >(
      "SELECT lanes.worker, late.* FROM lanes CROSS JOIN " +
        `unnest(${statuses}) AS late_of(status) CROSS JOIN LATERAL (` +
        "SELECT NULL::text AS job, count(*) AS count, " +
        `min(date_ms) AS since_ms FROM ${late("date_ms", limit)} AS counted ` +
        "UNION ALL SELECT job, count(*), min(date_ms) FROM " +
        `${late("job, date_ms", maxRead)} AS read GROUP BY job) AS late ` +
        `WHERE lanes.tenant = ${builder.add(tenant, "integer")} AND ` +
        `lanes.worker = ANY(${builder.add([...workerIds], "text[]")}) AND ` +
        "late.count > 0",
      builder.parameters,
    );
    return Array.from(
      Map.groupBy(rows, ({ worker }) => worker),
      ([workerId, found]): LateTasks => {
        let all: LateCount | undefined;
        let isExact = true;
        const jobs = new Map<string, LateCount>();
        for (const { job, count, since_ms: sinceMs } of found) {
          if (job !== null) {
            jobs.set(job, addLate(jobs.get(job), { count, sinceMs }));
            continue;
          }
          all = addLate(all, { count, sinceMs });
          if (count === limit) isExact = false;
        }
        return { workerId, ...all ?? { count: 0, sinceMs: 0 }, isExact, jobs };
      },
    );
  }

  /** The repeating tasks whose last run has failed. */
  async failingTasks(
    { tenantId, limit }: FailingTasksQuery,
  ): Promise<readonly Task[]> {
    const tenant = await this.#names.tenant(tenantId);
    if (tenant === undefined) return [];
    const builder = new SqlBuilder();
    const found = "SELECT id, failing_ms AS at FROM task_state " +
      `WHERE tenant = ${builder.add(tenant, "integer")} AND ` +
      "failing_ms IS NOT NULL ORDER BY failing_ms DESC, id DESC " +
      `LIMIT ${builder.add(limit, "bigint")}`;
    const tasks = await readTasks(
      this.#parts,
      selectFound(found, { order: "at DESC, id DESC" }),
      builder.parameters,
    );
    // Programs of earlier versions change tasks without this mark.
    return tasks.filter((task) =>
      computePlacement(task).failingSinceMs !== undefined
    );
  }
}
