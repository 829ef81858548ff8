/**
 * The queries of the store and their pages: tasks of a list, a claim or a scan,
 * records of a history, and entries of an audit log.
 *
 * @module
 */

import type { HistoryRecord, HistoryType } from "../domain/history.ts";
import type { Task, TaskStatus } from "../domain/task.ts";
import type { AskedThing } from "../domain/wait.ts";

/** The filter, order and position of a list. All conditions have to hold. */
export interface TaskQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** Tasks of any of these workers. */
  readonly workerIds?: readonly string[] | undefined;
  /** Tasks in any of these statuses. */
  readonly statuses?: readonly TaskStatus[] | undefined;
  /** The time that `fromMs` and `toMs` limit. */
  readonly by: "date" | "created_at" | "finished_at";
  /** The earliest instant, inclusive. */
  readonly fromMs?: number | undefined;
  /** The latest instant, inclusive. */
  readonly toMs?: number | undefined;
  /** The job's name. */
  readonly job?: string | undefined;
  /** The group; empty for tasks without one. */
  readonly group?: string | undefined;
  /** The key. */
  readonly key?: string | undefined;
  /** Tags that a task must all have. */
  readonly tags?: readonly string[] | undefined;
  /** Names and values that a task's metadata must all have. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Whether a worker may take the tasks now. */
  readonly isDue?: boolean | undefined;
  /** The code of the last error. */
  readonly errorCode?: string | undefined;
  /** Whether the tasks repeat. */
  readonly repeats?: boolean | undefined;
  /** What the tasks wait for without a worker. */
  readonly awaits?: AskedThing["kind"] | undefined;
  /** The time that orders the tasks; ties are broken by id. */
  readonly sort: "date" | "created_at";
  /** The direction of the order. */
  readonly order: "asc" | "desc";
  /** The most tasks of the page. */
  readonly limit: number;
  /** The last task of the previous page. */
  readonly after?: TaskPosition | undefined;
  /** Whether to count all matching tasks, up to the store's limit. */
  readonly count?: boolean | undefined;
}

/** A place in a list. */
export interface TaskPosition {
  /** The time that orders the list: the task's date or its creation. */
  readonly sortMs: number;
  /** The task's id. */
  readonly id: string;
}

/** A place among the tasks that wait to be woken. */
export interface WakingPosition {
  /** When the task has to be woken. */
  readonly wakeAtMs: number;
  /** The task's id. */
  readonly id: string;
}

/** Which tasks to look for among those that wait to be woken. */
export interface OthersWakingQuery {
  /** The instant by which they have to be woken. */
  readonly nowMs: number;
  /** The tenants whose tasks are passed over. */
  readonly except: ReadonlySet<string>;
  /** Where to begin. */
  readonly after: WakingPosition;
  /** The most tasks to look at, with those that are passed over. */
  readonly maxLooked: number;
}

/** Tasks that were found among those that wait to be woken. */
export interface OthersWaking {
  /** The tasks in order. */
  readonly tasks: readonly Task[];
  /** The last task that was looked at; undefined when there was no task. */
  readonly next: WakingPosition | undefined;
}

/** A page of tasks. */
export interface TaskPage {
  /** The tasks in order. */
  readonly tasks: readonly Task[];
  /**
   * Where the next page begins; absent after the last page. A page may be short
   * and still have a next one, since the work of a single page is limited.
   */
  readonly next?: TaskPosition | undefined;
  /**
   * The count of all matching tasks, if asked for; `isExact` is false when
   * counting stopped at the limit.
   */
  readonly count?:
    | { readonly value: number; readonly isExact: boolean }
    | undefined;
}

/** The filter, order and position of a history. */
export interface HistoryQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The task. */
  readonly taskId: string;
  /** Only records of these types. */
  readonly types?: readonly HistoryType[] | undefined;
  /** Only records of this run. */
  readonly run?: number | undefined;
  /** The direction of the order. */
  readonly order: "asc" | "desc";
  /** The most records of the page. */
  readonly limit: number;
  /** The number of the last record of the previous page. */
  readonly afterSeq?: number | undefined;
}

/** A page of a history. */
export interface HistoryPage {
  /** The records in order. */
  readonly records: readonly HistoryRecord[];
  /**
   * The number after which the next page begins; absent after the last page. It
   * may be that of a record that did not match.
   */
  readonly nextAfterSeq?: number | undefined;
}

/** Which counted starts to read. */
export interface StartsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker; empty for the workers that share the limits of groups. */
  readonly workerId: string;
  /**
   * Only those of a group, or of all the worker's tasks if it is empty.
   *
   * @default all
   */
  readonly group?: string | undefined;
  /** Only entries after the one of this number; 0 for all. */
  readonly afterNumber: number;
  /**
   * Whether the first entries or the last ones are returned, if there are more
   * than `limit`.
   *
   * @default {"first"}
   */
  readonly end?: "first" | "last" | undefined;
  /** The most entries. */
  readonly limit: number;
}

/** Identifies a worker; workers of different tenants may share an id. */
export interface WorkerName {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker. */
  readonly workerId: string;
}

/** A query for due tasks of a worker. */
export interface Claim extends WorkerName {
  /** The most tasks to return. */
  readonly limit: number;
  /** Only tasks of these jobs; all when absent. */
  readonly jobs?: readonly string[] | undefined;
  /** Returns how many more tasks of a group may start; no limit when absent. */
  readonly room?: ((group: string) => number) | undefined;
  /** The group that had its turn last; the next group is first. */
  readonly afterGroup?: string | undefined;
}

/** The key by which a client knows a live task of a worker. */
export interface TaskKey extends WorkerName {
  /** The key. */
  readonly key: string;
}

/** A query for the tasks that depend on others. */
export interface DependentsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The ids of the tasks, or the links of the calendars, that are meant. */
  readonly ids: readonly string[];
  /** The most ids to return. */
  readonly limit: number;
  /** Only ids after this one. */
  readonly afterId?: string | undefined;
}

/** A query for the workers with due tasks. */
export interface DueWorkersQuery {
  /** The most workers to return. */
  readonly limit: number;
  /** Only workers after this one. */
  readonly after?: WorkerName | undefined;
}

/** A query for all tasks of a status. */
export interface ScanQuery {
  /** The status. */
  readonly status: WatchedStatus;
  /** The most tasks to return. */
  readonly limit: number;
  /** The `next` of the previous page; absent for the first page. */
  readonly after?: string | undefined;
}

/** The statuses in which a task may be stuck, since no date wakes it. */
export type WatchedStatus = Extract<TaskStatus, "running" | "blocked">;

/** A page of a scan. */
export interface ScanPage {
  /** The tasks. */
  readonly tasks: readonly Task[];
  /** The cursor of the next page, opaque to the caller; absent at the end. */
  readonly next?: string | undefined;
}

/** Selects the tasks to count. */
export interface CountsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker; all of the tenant when absent. */
  readonly workerId?: string | undefined;
}

/** A query for events. */
export interface EventsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /**
   * Only events after the one with this cursor.
   *
   * @default none that is committed already
   */
  readonly after?: string | undefined;
  /**
   * Only events up to the one with this cursor, which a read has given before.
   *
   * @default up to the last one
   */
  readonly through?: string | undefined;
  /** The most events. */
  readonly limit: number;
}

/** Which entries of an audit log to remove. */
export interface AuditTrim {
  /** The tenant. */
  readonly tenantId: string;
  /** Entries from before this instant, in milliseconds since the epoch. */
  readonly beforeMs: number;
  /** The most entries to remove. */
  readonly limit: number;
}

/** A query for entries of an audit log. */
export interface AuditQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The most entries to return. */
  readonly limit: number;
  /** Only entries before the one with this number. */
  readonly before?: number | undefined;
}

/**
 * The kinds of records: everything but tasks. There are few records, and they
 * seldom change. The kinds are: a tenant (stored under the tenant id "", its
 * alias is the domain), a reserved domain, a worker, a user, an API key, a
 * worker's credential, a named secret, the secrets of a worker that were
 * replaced recently, a tenant's wrapped data key, a bulk operation, the closed
 * times of a calendar, the file that they were read from, a webhook, an alert,
 * and a record of the service itself, such as a guard or a mark.
 */
export type RecordKind =
  | "tenant"
  | "reserved_domain"
  | "worker"
  | "user"
  | "key"
  | "credential"
  | "secret"
  | "retired_secrets"
  | "data_key"
  | "operation"
  | "calendar"
  | "calendar_file"
  | "webhook"
  | "alert"
  | "service";
