/**
 * Filters and limits of lists of tasks, histories and activity.
 *
 * @module
 */

import type { Activity, HistoryRecord, Task, TaskPart } from "./api_types.ts";
import type { Time } from "./job_types.ts";
import type { CallOptions } from "./service_calls.ts";

/** Which tasks a list contains, their order and their fields. */
export interface TaskFilter extends CallOptions {
  /** Only tasks of these workers, by name or id. */
  readonly worker?: string | readonly string[] | undefined;
  /**
   * Only tasks with one of these statuses; `active` and `final` stand for
   * several.
   */
  readonly status?: TaskStatus | readonly TaskStatus[] | undefined;
  /**
   * Only tasks from this time on: `2027`, `2027-01`, `2027-01-31`, RFC 3339 or a
   * `Date`.
   */
  readonly start?: Time | undefined;
  /**
   * Only tasks up to this time; a year, month or day is included as a whole.
   */
  readonly end?: Time | undefined;
  /** The time zone of years, months and days; UTC when absent. */
  readonly tz?: string | undefined;
  /** Which of a task's times `start` and `end` limit; `date` when absent. */
  readonly by?: "date" | "created_at" | "finished_at" | undefined;
  /** Only tasks of this job. */
  readonly job?: string | undefined;
  /** Only tasks of this group; an empty text for tasks without a group. */
  readonly group?: string | undefined;
  /** Only the tasks with this key. */
  readonly key?: string | undefined;
  /** Only tasks whose last error has this code. */
  readonly error?: string | undefined;
  /** Only tasks with all of these tags, which must not contain commas. */
  readonly tag?: string | readonly string[] | undefined;
  /** Only tasks with all of these labels. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** True for tasks whose date has come, false for tasks whose date has not. */
  readonly due?: boolean | undefined;
  /** True for tasks that repeat, false for tasks that run once. */
  readonly repeats?: boolean | undefined;
  /** Only tasks that wait for an event, or for an approval, without a worker. */
  readonly waiting?: "event" | "approval" | undefined;
  /** Which of a task's times the list is ordered by; `date` when absent. */
  readonly sort?: "date" | "created_at" | undefined;
  /** Earliest or latest first; `asc` when absent. */
  readonly order?: "asc" | "desc" | undefined;
  /** The fields of the tasks to return; all when absent. */
  readonly fields?: ReadonlyArray<keyof TaskPart> | undefined;
  /** The number of tasks on a page, at most 200; 50 when absent. */
  readonly limit?: number | undefined;
  /** Whether pages include the total number of tasks. */
  readonly count?: boolean | undefined;
}

/** A status that lists can be filtered by. */
export type TaskStatus = Task["status"] | "active" | "final";

/** Which records of a task's history to list. */
export interface HistoryFilter extends CallOptions {
  /** Only records of this type. */
  readonly type?: HistoryRecord["type"] | undefined;
  /** Only records of this run. */
  readonly run?: number | undefined;
  /** Earliest or latest first; `asc` when absent. */
  readonly order?: "asc" | "desc" | undefined;
  /** The number of records on a page. */
  readonly limit?: number | undefined;
}

/** Which activity to read. */
export interface ActivityFilter extends CallOptions {
  /** From this instant on; a day before `to` when absent. */
  readonly from?: Time | undefined;
  /** Up to this instant; now when absent. */
  readonly to?: Time | undefined;
  /**
   * The length of a span. Minutes are kept for two hours, five minutes for 25
   * hours, hours for eight days; when absent, the shortest that is kept for all
   * of it.
   */
  readonly step?: Activity["step"] | undefined;
  /** Only that of this worker, by name or id. */
  readonly worker?: string | undefined;
  /** Only that of this job of the worker. */
  readonly job?: string | undefined;
}
