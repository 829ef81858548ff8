/**
 * The part of the store's interface that reads what is counted as tasks change,
 * so that no read looks at all tasks: activity over time, the longest queues,
 * late tasks and failing schedules.
 *
 * @module
 */

import type { Task, TaskStatus } from "../domain/task.ts";

/** Reads what is counted as tasks change. */
export interface KeptCounts {
  /** The activity of a tenant, by time; spans without activity are left out. */
  activity(query: ActivityQuery): Promise<readonly ActivityPoint[]>;
  /**
   * The queues with the most tasks in any of some statuses, in any order. More
   * than `limit` of a status may be returned; none that belongs to the first
   * `limit` is missing, apart from changes of the last seconds.
   */
  topCounts(query: TopCountsQuery): Promise<readonly QueueCounts[]>;
  /**
   * The workers, among some, with tasks whose dates have passed long ago and
   * that may be taken, or soon may.
   */
  lateTasks(query: LateTasksQuery): Promise<readonly LateTasks[]>;
  /**
   * The repeating tasks whose last run has failed, as
   * {@linkcode computePlacement} says: the latest failure first.
   */
  failingTasks(query: FailingTasksQuery): Promise<readonly Task[]>;
}

/** Whose activity is counted: that of all tasks, of a worker, or of a job. */
export interface ActivitySeries {
  /** The worker; empty for all. */
  readonly workerId: string;
  /** The job; empty for all of the worker's. */
  readonly job: string;
}

/** What was counted in a span of time. */
export interface ActivityCounts {
  /** Tasks that were made. */
  readonly created: number;
  /** Attempts that began. */
  readonly started: number;
  /** Attempts that succeeded. */
  readonly succeeded: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** Attempts that were lost with their worker. */
  readonly lost: number;
  /** Tasks that have ended in success. */
  readonly completed: number;
  /** Slots of schedules that were missed. */
  readonly missed: number;
  /** How late attempts began, in milliseconds, in sum. */
  readonly lagSumMs: number;
  /** The latest beginning of an attempt, in milliseconds after its date. */
  readonly lagMaxMs: number;
  /** How long attempts took, in milliseconds, in sum. */
  readonly runSumMs: number;
}

/**
 * The counts with the names of their columns, in the order in which they are
 * written.
 */
export const ACTIVITY_COLUMNS = [
  ["created", "created"],
  ["started", "started"],
  ["succeeded", "succeeded"],
  ["failed", "failed"],
  ["lost", "lost"],
  ["completed", "completed"],
  ["missed", "missed"],
  ["lagSumMs", "lag_sum_ms"],
  ["lagMaxMs", "lag_max_ms"],
  ["runSumMs", "run_sum_ms"],
] as const satisfies readonly (readonly [keyof ActivityCounts, string])[];

/** The one count of which not the sum is kept, but the largest. */
export const MAX_COLUMN = "lag_max_ms";

/** Counts of nothing. */
export const NO_ACTIVITY: ActivityCounts = {
  created: 0,
  started: 0,
  succeeded: 0,
  failed: 0,
  lost: 0,
  completed: 0,
  missed: 0,
  lagSumMs: 0,
  lagMaxMs: 0,
  runSumMs: 0,
};

/** Adds counts. */
export function addActivity(
  one: ActivityCounts,
  other: ActivityCounts,
): ActivityCounts {
  const sum: { -readonly [Name in keyof ActivityCounts]: number } = { ...one };
  for (const [name, column] of ACTIVITY_COLUMNS) {
    sum[name] = column === MAX_COLUMN
      ? Math.max(one[name], other[name])
      : one[name] + other[name];
  }
  return sum;
}

/** The counts of a row with a column for each. */
export function readActivity(
  row: Readonly<Record<string, unknown>>,
): ActivityPoint {
  const point: { -readonly [Name in keyof ActivityPoint]: number } = {
    ...NO_ACTIVITY,
    atMs: Number(row["at_ms"]),
  };
  for (const [name, column] of ACTIVITY_COLUMNS) {
    point[name] = Number(row[column]);
  }
  return point;
}

/** What was counted from an instant on. */
export interface ActivityPoint extends ActivityCounts {
  /** When the span begins: a multiple of its length since the epoch. */
  readonly atMs: number;
}

/** Which activity to read. */
export interface ActivityQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** Whose activity. */
  readonly series: ActivitySeries;
  /** The length of the spans, in milliseconds: one that is written. */
  readonly stepMs: number;
  /** The first span that is read begins at this instant, or later. */
  readonly fromMs: number;
  /** The last one begins before this instant. */
  readonly toMs: number;
}

/** Which queues to find. */
export interface TopCountsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** What has a queue: each worker, or each job of a worker. */
  readonly by: "worker" | "job";
  /** The statuses that are counted. */
  readonly statuses: readonly TaskStatus[];
  /** The most queues of each status. */
  readonly limit: number;
}

/** How many tasks of a worker, or of one of its jobs, are in some statuses. */
export interface QueueCounts {
  /** The worker. */
  readonly workerId: string;
  /** The job; undefined for all. */
  readonly job?: string | undefined;
  /** The counts of the statuses that were asked for. */
  readonly counts: Readonly<Partial<Record<TaskStatus, number>>>;
}

/** Which late tasks to count. */
export interface LateTasksQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The workers. */
  readonly workerIds: readonly string[];
  /** Tasks with a date before this instant are late. */
  readonly beforeMs: number;
  /** The most tasks of a worker and a status that are counted. */
  readonly limit: number;
  /**
   * The most tasks of a worker and a status that are read for their jobs: those
   * with the earliest dates. Counting takes an index alone, reading the rows.
   */
  readonly maxRead: number;
}

/** Late tasks. */
export interface LateCount {
  /** How many there are. */
  readonly count: number;
  /** The earliest date. */
  readonly sinceMs: number;
}

/** Late tasks of a worker. */
export interface LateTasks extends LateCount {
  /** The worker. */
  readonly workerId: string;
  /** Whether all were counted. */
  readonly isExact: boolean;
  /** Those that were read, by their jobs. */
  readonly jobs: ReadonlyMap<string, LateCount>;
}

/** Adds late tasks up. */
export function addLate(
  one: LateCount | undefined,
  other: LateCount,
): LateCount {
  return one === undefined ? other : {
    count: one.count + other.count,
    sinceMs: Math.min(one.sinceMs, other.sinceMs),
  };
}

/** The statuses whose tasks are late when their date has passed. */
export const LATE_STATUSES = [
  "waiting",
  "retry",
  "done",
] as const satisfies readonly TaskStatus[];

/** Which failing tasks to read. */
export interface FailingTasksQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The most tasks. */
  readonly limit: number;
}
