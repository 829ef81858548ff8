/**
 * Which tasks a list wants, and which records of a task's history.
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
