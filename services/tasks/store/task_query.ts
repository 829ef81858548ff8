/**
 * Which tasks a list wants.
 *
 * @module
 */

import type { Task, TaskStatus } from "../domain/task.ts";

/** A list's filter, order and position. All conditions hold together. */
export interface TaskQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** Any of these workers. */
  readonly workerIds?: readonly string[];
  /** Any of these statuses. */
  readonly statuses?: readonly TaskStatus[];
  /** The time that `fromMs` and `toMs` bound. */
  readonly by: "date" | "created_at" | "finished_at";
  /** The first instant, itself included. */
  readonly fromMs?: number;
  /** The last instant, itself included. */
  readonly toMs?: number;
  /** The job's name. */
  readonly job?: string;
  /** The group; empty for tasks without one. */
  readonly group?: string;
  /** The key. */
  readonly key?: string;
  /** All of these tags. */
  readonly tags?: readonly string[];
  /** All of these pairs. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Whether they may be taken now, or not. */
  readonly isDue?: boolean;
  /** The code of the last error. */
  readonly errorCode?: string;
  /** What orders them; ties are broken by id. */
  readonly sort: "date" | "created_at";
  /** Which way. */
  readonly order: "asc" | "desc";
  /** Most tasks of the page. */
  readonly limit: number;
  /** The last task of the page before. */
  readonly after?: TaskPosition;
  /** Whether to count them all, up to the store's bound. */
  readonly count?: boolean;
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
  readonly next?: TaskPosition;
  /** How many there are, when asked, and whether counting stopped early. */
  readonly count?: { readonly value: number; readonly isExact: boolean };
}
