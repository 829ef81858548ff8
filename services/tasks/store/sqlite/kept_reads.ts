/**
 * Reads what is counted as tasks change: activity, the longest queues, late
 * tasks and failing schedules.
 *
 * @module
 */

import type { Task, TaskStatus } from "../../domain/task.ts";
import {
  type ActivityPoint,
  type ActivityQuery,
  addLate,
  type FailingTasksQuery,
  LATE_STATUSES,
  type LateCount,
  type LateTasks,
  type LateTasksQuery,
  type QueueCounts,
  readActivity,
  type TopCountsQuery,
} from "../kept_counts.ts";
import { statusCode } from "../task_body.ts";
import { readNumber, readText, type Row } from "./reader.ts";
import type { ReadParts } from "./task_reads.ts";

const FROM_LATE = "FROM tasks INDEXED BY tasks_by_date WHERE tenant = ? " +
  "AND lane = ? AND status = ? AND date_ms < ? ORDER BY date_ms LIMIT ?";

function readLate(row: Row): LateCount {
  return {
    count: readNumber(row, "count"),
    sinceMs: readNumber(row, "since_ms"),
  };
}

/** Reads what is counted as tasks change; see {@linkcode KeptCounts}. */
export class KeptReads {
  readonly #parts: ReadParts;

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** The activity of a tenant, by time. */
  activity(
    { tenantId, series, stepMs, fromMs, toMs }: ActivityQuery,
  ): readonly ActivityPoint[] {
    const { reader, interned } = this.#parts;
    return reader.rows(
      "SELECT * FROM activity WHERE tenant = ? AND worker = ? AND job = ? " +
        "AND step_ms = ? AND at_ms >= ? AND at_ms < ? ORDER BY at_ms",
      interned.tenant(tenantId) ?? -1,
      series.workerId,
      series.job,
      stepMs,
      fromMs,
      toMs,
    ).map(readActivity);
  }

  /** The queues with the most tasks in any of some statuses. */
  topCounts(
    { tenantId, by, statuses, limit }: TopCountsQuery,
  ): readonly QueueCounts[] {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    const [table, columns] = by === "job"
      ? ["job_counts", "lane, job"]
      : ["task_counts", "lane"];
    return reader.snapshot(() => {
      const queues = new Map<string, Row>();
      for (const status of statuses) {
        const rows = reader.rows(
          `SELECT ${columns} FROM ${table} INDEXED BY ${table}_top ` +
            "WHERE tenant = ? AND status = ? AND count > 0 " +
            "ORDER BY count DESC LIMIT ?",
          tenant,
          statusCode(status),
          limit,
        );
        for (const row of rows) queues.set(Object.values(row).join(" "), row);
      }
      return Array.from(queues.values(), (row): QueueCounts => {
        const lane = readNumber(row, "lane");
        const job = by === "job" ? readText(row, "job") : undefined;
        const counts: Partial<Record<TaskStatus, number>> = {};
        for (const status of statuses) {
          const count = reader.number(
            `SELECT count FROM ${table} WHERE tenant = ? AND lane = ? ` +
              `AND status = ?${job === undefined ? "" : " AND job = ?"}`,
            tenant,
            lane,
            statusCode(status),
            ...(job === undefined ? [] : [job]),
          ) ?? 0;
          if (count > 0) counts[status] = count;
        }
        const workerId = reader.text(
          "SELECT worker FROM lanes WHERE lane = ?",
          lane,
        ) ?? "";
        return { workerId, ...job === undefined ? {} : { job }, counts };
      });
    });
  }

  /** Late tasks of some workers. */
  lateTasks(
    { tenantId, workerIds, beforeMs, limit, maxRead }: LateTasksQuery,
  ): readonly LateTasks[] {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    return reader.snapshot(() =>
      workerIds.flatMap((workerId) => {
        const lane = interned.queueId(tenantId, workerId);
        if (lane === undefined) return [];
        let all: LateCount | undefined;
        let isExact = true;
        const jobs = new Map<string, LateCount>();
        for (const status of LATE_STATUSES) {
          const of = [tenant, lane, statusCode(status), beforeMs];
          const found = reader.row(
            "SELECT count(*) AS count, min(date_ms) AS since_ms FROM (" +
              `SELECT date_ms ${FROM_LATE})`,
            ...of,
            limit,
          );
          if (found === undefined || found["count"] === 0) continue;
          all = addLate(all, readLate(found));
          if (found["count"] === limit) isExact = false;
          for (
            const row of reader.rows(
              "SELECT job, count(*) AS count, min(date_ms) AS since_ms FROM (" +
                `SELECT job, date_ms ${FROM_LATE}) GROUP BY job`,
              ...of,
              maxRead,
            )
          ) {
            const job = readText(row, "job");
            jobs.set(job, addLate(jobs.get(job), readLate(row)));
          }
        }
        return all === undefined ? [] : [{ workerId, ...all, isExact, jobs }];
      })
    );
  }

  /** The repeating tasks whose last run has failed. */
  failingTasks({ tenantId, limit }: FailingTasksQuery): readonly Task[] {
    const { reader, interned, tasks } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    return reader.snapshot(() =>
      tasks.numbered(
        reader.rows(
          "SELECT n FROM tasks INDEXED BY tasks_failing WHERE tenant = ? AND " +
            "failing_ms IS NOT NULL ORDER BY failing_ms DESC, n DESC LIMIT ?",
          tenant,
          limit,
        ).map((row) => readNumber(row, "n")),
      )
    );
  }
}
