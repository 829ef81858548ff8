/**
 * Counts tasks and scans them by status.
 *
 * @module
 */

import type { TaskStatus } from "../../domain/task.ts";
import type { CountsQuery, ScanPage, ScanQuery } from "../queries.ts";
import type { StatusCounts, TenantQueue } from "../store.ts";
import {
  BLOCKED_CODE,
  decodeStatus,
  RUNNING_CODE,
  WAITING_CODE,
} from "../task_body.ts";
import type { InternedNames } from "./interned_names.ts";
import { SqlBuilder } from "../../../shared/postgres/sql_builder.ts";
import { decodeTasks, type ReadParts, selectFound } from "./task_rows.ts";

/** The most bytes of payloads in a page of a scan. */
const MAX_SCANNED_BYTES = 1_000_000;

/** What was counted: what was folded, and what was added since. */
const COUNTED = "(SELECT tenant, lane, status, count FROM task_counts " +
  "UNION ALL SELECT tenant, lane, status, count FROM count_deltas)";

/** Counts and scans tasks by status. */
export class StatusReads {
  readonly #parts: ReadParts;
  readonly #names: InternedNames;

  /** Takes what reading needs. */
  constructor(parts: ReadParts, names: InternedNames) {
    this.#parts = parts;
    this.#names = names;
  }

  /** How many tasks a tenant, or one of its workers, has in each status. */
  async counts({ tenantId, workerId }: CountsQuery): Promise<StatusCounts> {
    const tenant = await this.#names.tenant(tenantId);
    if (tenant === undefined) return {};
    const builder = new SqlBuilder();
    let where = `tenant = ${builder.add(tenant, "integer")}`;
    if (workerId !== undefined) {
      const lane = await this.#names.lane(tenantId, workerId);
      if (lane === undefined) return {};
      where += ` AND lane = ${builder.add(lane, "integer")}`;
    }
    const rows = await this.#parts.runner.query<
      { status: number; count: number }
    >(
      `SELECT status, sum(count)::bigint AS count FROM ${COUNTED} AS counted ` +
        `WHERE ${where} GROUP BY status HAVING sum(count) <> 0`,
      builder.parameters,
    );
    return Object.fromEntries(
      rows.map(({ status, count }) => [decodeStatus(status), count]),
    );
  }

  /** The number of tasks in each tenant's queues, from the stored counts. */
  async queues(): Promise<readonly TenantQueue[]> {
    const rows = await this.#parts.runner.query<
      { id: string; status: number; count: number; since_ms: number | null }
    >(
      "SELECT names.id, counted.status, sum(counted.count)::bigint AS count, " +
        "min(CASE WHEN counted.status = " +
        `${WAITING_CODE} THEN (SELECT date_ms FROM task_state AS first ` +
        "WHERE first.tenant = counted.tenant AND first.lane = counted.lane " +
        "AND first.status = counted.status ORDER BY date_ms LIMIT 1) " +
        "WHEN counted.status IN (4, 5) THEN (SELECT date_ms FROM task_state " +
        "AS first WHERE first.tenant = counted.tenant AND " +
        `first.rank IS NOT NULL AND first.status <> ${WAITING_CODE} ` +
        "ORDER BY date_ms LIMIT 1) END) AS since_ms " +
        "FROM (SELECT tenant, lane, status, sum(count) AS count " +
        `FROM ${COUNTED} AS each_ GROUP BY tenant, lane, status ` +
        "HAVING sum(count) <> 0) AS counted " +
        "JOIN tenants AS names ON names.tenant = counted.tenant " +
        "GROUP BY names.id, counted.status ORDER BY names.id",
    );
    const queues = new Map<string, OpenQueue>();
    for (const { id, status, count, since_ms: sinceMs } of rows) {
      let queue = queues.get(id);
      if (queue === undefined) {
        queue = { tenantId: id, counts: {}, dueSinceMs: undefined };
        queues.set(id, queue);
      }
      queue.counts[decodeStatus(status)] = count;
      if (sinceMs === null) continue;
      queue.dueSinceMs = Math.min(queue.dueSinceMs ?? Infinity, sinceMs);
    }
    return [...queues.values()];
  }

  /** A page of all tasks of a status, across all tenants. */
  async scan({ status, limit, after }: ScanQuery): Promise<ScanPage> {
    const builder = new SqlBuilder();
    const most = builder.add(limit + 1, "bigint");
    const found = status === "running"
      ? runningSql(builder, after, most)
      : "SELECT id, id AS at FROM task_state " +
        `WHERE status = ${BLOCKED_CODE} AND ` +
        `id > ${builder.add(after ?? "", "text")} ORDER BY id LIMIT ${most}`;
    const rows = await this.#parts.runner.query(
      selectFound(found, { maxBytes: String(MAX_SCANNED_BYTES) }),
      builder.parameters,
    );
    const kept = rows.slice(0, limit);
    const tasks = decodeTasks(kept, this.#parts.known);
    const last = kept.at(-1);
    // One row more than were asked for, or the limit on payloads.
    const isLast = rows.length <= limit && await this.#isWhole(rows, status);
    return last === undefined || isLast
      ? { tasks }
      : { tasks, next: String(last["at"]) };
  }

  /** Whether nothing follows rows that may have been cut by their payloads. */
  async #isWhole(
    rows: readonly Readonly<Record<string, unknown>>[],
    status: ScanQuery["status"],
  ): Promise<boolean> {
    const last = rows.at(-1);
    if (last === undefined) return true;
    const builder = new SqlBuilder();
    const one = builder.add(1, "bigint");
    const after = String(last["at"]);
    const next = await this.#parts.runner.query(
      status === "running"
        ? runningSql(builder, after, one)
        : `SELECT id FROM task_state WHERE status = ${BLOCKED_CODE} AND ` +
          `id > ${builder.add(after, "text")} ORDER BY id LIMIT ${one}`,
      builder.parameters,
    );
    return next.length === 0;
  }
}

/** The part of a tenant's queues that was read so far. */
interface OpenQueue {
  readonly tenantId: string;
  readonly counts: Partial<Record<TaskStatus, number>>;
  dueSinceMs: number | undefined;
}

/**
 * Running tasks in the order of their index: by worker, group and id. Their
 * place is JSON text, which does not sort as they do.
 */
function runningSql(
  builder: SqlBuilder,
  after: string = '[0,"",""]',
  most: string,
): string {
  const [lane, group, id]: [number, string, string] = JSON.parse(after);
  return "SELECT id, json_build_array(lane, grp, id)::text AS at, " +
    "lane, grp FROM task_state " +
    `WHERE status = ${RUNNING_CODE} AND (lane, grp, id) > (${
      builder.add(lane, "integer")
    }, ${builder.add(group, "text")}, ${builder.add(id, "text")}) ` +
    `ORDER BY lane, grp, id LIMIT ${most}`;
}
