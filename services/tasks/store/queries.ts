/**
 * What a store is asked for: which tasks, of a list, a claim or a scan, which records
 * of a history, and which entries of an audit log.
 *
 * @module
 */

import type { HistoryRecord, HistoryType } from "../domain/history.ts";
import type { Task, TaskStatus } from "../domain/task.ts";

/** A list's filter, order and position. All conditions hold together. */
export interface TaskQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** Any of these workers. */
  readonly workerIds?: readonly string[] | undefined;
  /** Any of these statuses. */
  readonly statuses?: readonly TaskStatus[] | undefined;
  /** The time that `fromMs` and `toMs` bound. */
  readonly by: "date" | "created_at" | "finished_at";
  /** The first instant, itself included. */
  readonly fromMs?: number | undefined;
  /** The last instant, itself included. */
  readonly toMs?: number | undefined;
  /** The job's name. */
  readonly job?: string | undefined;
  /** The group; empty for tasks without one. */
  readonly group?: string | undefined;
  /** The key. */
  readonly key?: string | undefined;
  /** All of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** All of these pairs. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Whether they may be taken now, or not. */
  readonly isDue?: boolean | undefined;
  /** The code of the last error. */
  readonly errorCode?: string | undefined;
  /** What orders them; ties are broken by id. */
  readonly sort: "date" | "created_at";
  /** Which way. */
  readonly order: "asc" | "desc";
  /** Most tasks of the page. */
  readonly limit: number;
  /** The last task of the page before. */
  readonly after?: TaskPosition | undefined;
  /** Whether to count them all, up to the store's bound. */
  readonly count?: boolean | undefined;
}

/** A place in a list. */
export interface TaskPosition {
  /** The time that orders: its date or its creation. */
  readonly sortMs: number;
  /** The task's id. */
  readonly id: string;
}

/** A page of tasks. */
export interface TaskPage {
  /** The tasks in order. */
  readonly tasks: readonly Task[];
  /**
   * Where the next page begins; absent when there is none. A page may be short
   * and have one: the work of a single page is bounded.
   */
  readonly next?: TaskPosition | undefined;
  /** How many there are, when asked, and whether counting stopped early. */
  readonly count?:
    | { readonly value: number; readonly isExact: boolean }
    | undefined;
}

/** A filter, an order and a position in a history. */
export interface HistoryQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The task. */
  readonly taskId: string;
  /** Only records of these types. */
  readonly types?: readonly HistoryType[] | undefined;
  /** Only records of this run. */
  readonly run?: number | undefined;
  /** Which way. */
  readonly order: "asc" | "desc";
  /** Most records of the page. */
  readonly limit: number;
  /** The number of the last record of the page before. */
  readonly afterSeq?: number | undefined;
}

/** A page of a history. */
export interface HistoryPage {
  /** The records in order. */
  readonly records: readonly HistoryRecord[];
  /** Whether there may be more behind the last record that was looked at. */
  readonly nextAfterSeq?: number | undefined;
}

/** A worker of a tenant; those of different tenants may share an id. */
export interface WorkerName {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker. */
  readonly workerId: string;
}

/** A claim for tasks of a worker. */
export interface Claim extends WorkerName {
  /** Most tasks wanted. */
  readonly limit: number;
  /** Only tasks of these jobs; all when absent. */
  readonly jobs?: readonly string[] | undefined;
  /** Most further tasks of each group; no bound when absent. */
  readonly room?: ((group: string) => number) | undefined;
  /** The group that had its turn last; the one after it begins. */
  readonly afterGroup?: string | undefined;
}

/** The key by which a client knows a live task of a worker. */
export interface TaskKey extends WorkerName {
  /** The key. */
  readonly key: string;
}

/** Which dependents are wanted. */
export interface DependentsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The tasks that are depended on. */
  readonly ids: readonly string[];
  /** Most ids wanted. */
  readonly limit: number;
  /** Only ids behind this one. */
  readonly afterId?: string | undefined;
}

/** Which workers with due tasks are wanted. */
export interface DueWorkersQuery {
  /** Most workers wanted. */
  readonly limit: number;
  /** Only workers behind this one. */
  readonly after?: WorkerName | undefined;
}

/** Which tasks of a status are wanted. */
export interface ScanQuery {
  /** The status. */
  readonly status: WatchedStatus;
  /** Most tasks wanted. */
  readonly limit: number;
  /** Where to go on. */
  readonly after?: string | undefined;
}

/** The statuses in which a task may be stuck, as no date wakes it. */
export type WatchedStatus = Extract<TaskStatus, "running" | "blocked">;

/** A piece of a scan. */
export interface ScanPage {
  /** The tasks. */
  readonly tasks: readonly Task[];
  /** Where to go on, opaque to the caller; absent at the end. */
  readonly next?: string | undefined;
}

/** Whose tasks are counted. */
export interface CountsQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker; all of the tenant when absent. */
  readonly workerId?: string | undefined;
}

/** Which entries of an audit log are wanted. */
export interface AuditQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** Most entries wanted. */
  readonly limit: number;
  /** Only entries before the one of this number. */
  readonly before?: number | undefined;
}
