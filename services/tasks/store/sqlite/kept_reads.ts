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
import { decodeStatus, statusCode } from "../task_body.ts";
import type { PiecewiseRead } from "./read_turns.ts";
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

  /** The queues with the most tasks in any of some statuses, in pieces. */
  *topCounts(
    { tenantId, by, statuses, limit }: TopCountsQuery,
  ): PiecewiseRead<readonly QueueCounts[]> {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    const [table, columns] = by === "job"
      ? ["job_counts", "lane, job"]
      : ["task_counts", "lane"];
    const codes = statuses.map(statusCode);
    const found = new Map<string, Row>();
    for (const code of codes) {
      const rows = reader.rows(
        `SELECT ${columns} FROM ${table} INDEXED BY ${table}_top ` +
          "WHERE tenant = ? AND status = ? AND count > 0 " +
          "ORDER BY count DESC LIMIT ?",
        tenant,
        code,
        limit,
      );
      for (const row of rows) found.set(Object.values(row).join(" "), row);
    }
    const queues: QueueCounts[] = [];
    for (const row of found.values()) {
      yield;
      const lane = readNumber(row, "lane");
      const job = by === "job" ? readText(row, "job") : undefined;
      const counts: Partial<Record<TaskStatus, number>> = {};
      for (
        const kept of reader.rows(
          `SELECT status, count FROM ${table} WHERE tenant = ? AND lane = ? ` +
            `AND status IN (${codes.join()})` +
            (job === undefined ? "" : " AND job = ?"),
          tenant,
          lane,
          ...(job === undefined ? [] : [job]),
        )
      ) {
        const count = readNumber(kept, "count");
        if (count === 0) continue;
        counts[decodeStatus(readNumber(kept, "status"))] = count;
      }
      const workerId = reader.text(
        "SELECT worker FROM lanes WHERE lane = ?",
        lane,
      ) ?? "";
      queues.push({ workerId, ...job === undefined ? {} : { job }, counts });
    }
    return queues;
  }

  /** Late tasks of some workers, in pieces. */
  *lateTasks(
    { tenantId, workerIds, beforeMs, limit, maxRead }: LateTasksQuery,
  ): PiecewiseRead<readonly LateTasks[]> {
    const { reader, interned } = this.#parts;
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return [];
    const late: LateTasks[] = [];
    for (const workerId of workerIds) {
      yield;
      const lane = interned.queueId(tenantId, workerId);
      if (lane === undefined) continue;
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
      if (all !== undefined) late.push({ workerId, ...all, isExact, jobs });
    }
    return late;
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
