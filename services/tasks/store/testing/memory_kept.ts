/**
 * What a store in memory counts: every query looks at everything.
 *
 * @module
 */

import { computePlacement } from "../../domain/placement.ts";
import type { Task, TaskStatus } from "../../domain/task.ts";
import {
  addLate,
  type KeptCounts,
  LATE_STATUSES,
  type LateCount,
  type LateTasks,
  type QueueCounts,
} from "../kept_counts.ts";
import type { MemoryTables } from "./memory_writes.ts";

/** Reads what is counted, from the tables themselves. */
export function memoryKept(tables: MemoryTables): KeptCounts {
  const ofTenant = (tenantId: string): readonly Task[] =>
    [...tables.tasks.values()].filter((task) => task.tenantId === tenantId);
  return {
    activity: ({ tenantId, series, stepMs, fromMs, toMs }) =>
      Promise.resolve(
        [...tables.activity.values()].filter((span) =>
          span.tenantId === tenantId && span.stepMs === stepMs &&
          span.series.workerId === series.workerId &&
          span.series.job === series.job && span.atMs >= fromMs &&
          span.atMs < toMs
        ).map(({ atMs, counts }) => ({ ...counts, atMs }))
          .sort((one, other) => one.atMs - other.atMs),
      ),
    topCounts({ tenantId, by, statuses, limit }) {
      const queues = Map.groupBy(
        ofTenant(tenantId),
        ({ workerId, job }) =>
          JSON.stringify(by === "job" ? [workerId, job] : [workerId]),
      );
      const all = Array.from(queues.values(), (tasks): QueueCounts => {
        const counts: Partial<Record<TaskStatus, number>> = {};
        for (const { status } of tasks) {
          if (!statuses.includes(status)) continue;
          counts[status] = (counts[status] ?? 0) + 1;
        }
        const { workerId, job } = tasks[0]!;
        return { workerId, ...by === "job" ? { job } : {}, counts };
      });
      const top = new Set(
        statuses.flatMap((status) =>
          all.filter(({ counts }) => counts[status] !== undefined)
            .sort((one, other) =>
              (other.counts[status] ?? 0) - (one.counts[status] ?? 0)
            ).slice(0, limit)
        ),
      );
      return Promise.resolve([...top]);
    },
    lateTasks({ tenantId, workerIds, beforeMs, limit, maxRead }) {
      const late = workerIds.flatMap((workerId): LateTasks[] => {
        let all: LateCount | undefined;
        let isExact = true;
        const jobs = new Map<string, LateCount>();
        for (const status of LATE_STATUSES) {
          const tasks = ofTenant(tenantId).filter((task) =>
            task.workerId === workerId && task.status === status &&
            task.dateMs < beforeMs
          ).sort((one, other) => one.dateMs - other.dateMs).slice(0, limit);
          if (tasks.length === limit) isExact = false;
          for (const [index, { job, dateMs: sinceMs }] of tasks.entries()) {
            const one = { count: 1, sinceMs };
            all = addLate(all, one);
            if (index < maxRead) jobs.set(job, addLate(jobs.get(job), one));
          }
        }
        return all === undefined ? [] : [{ workerId, ...all, isExact, jobs }];
      });
      return Promise.resolve(late);
    },
    failingTasks: ({ tenantId, limit }) =>
      Promise.resolve(
        ofTenant(tenantId)
          .map((task) => ({
            task,
            sinceMs: computePlacement(task).failingSinceMs ?? -Infinity,
          }))
          .filter(({ sinceMs }) => sinceMs !== -Infinity)
          .sort((one, other) =>
            other.sinceMs - one.sinceMs ||
            (one.task.id < other.task.id ? 1 : -1)
          )
          .slice(0, limit).map(({ task }) => task),
      ),
  };
}
