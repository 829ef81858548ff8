/**
 * One action applied to many tasks: which ones, and how far it is.
 *
 * @module
 */

import type { Actor } from "../../domain/records.ts";
import type { TaskPosition, TaskQuery } from "../../store/queries.ts";

/** What can be done to many tasks. */
export const BULK_ACTIONS = [
  "cancel",
  "retry",
  "pause",
  "resume",
  "delete",
] as const;

/** What is done to each task. */
export type BulkAction = typeof BULK_ACTIONS[number];

/** The part of a query that a filter decides. */
export type TaskFilter = Omit<
  TaskQuery,
  "tenantId" | "sort" | "order" | "limit" | "after" | "count"
>;

/** Which tasks, and what is done to each. */
export interface BulkOrder {
  /** What is done. */
  readonly action: BulkAction;
  /** Whose tasks. */
  readonly tenantId: string;
  /** Who ordered it. */
  readonly actor: Actor;
  /** The tasks by id; absent when a filter selects them. */
  readonly ids?: readonly string[] | undefined;
  /** The tasks by filter; absent when they are given by id. */
  readonly filter?: TaskFilter | undefined;
  /** How many tasks are looked at, at most. */
  readonly limit: number;
  /** Whether to write nothing and count what would be done. */
  readonly isDryRun: boolean;
  /** When it was ordered; a filter selects no tasks that were created later. */
  readonly orderedAtMs: number;
}

/** Where the next portion begins. */
export type BulkPosition =
  /** After this many of the ids. */
  | { readonly kind: "ids"; readonly index: number }
  /** After a task, ordered by creation; at the first one when absent. */
  | { readonly kind: "filter"; readonly after?: TaskPosition | undefined };

/** A task that the action could not be applied to. */
export interface BulkError {
  /** The task. */
  readonly id: string;
  /** Why, for programs. */
  readonly code: string;
  /** Why, for people. */
  readonly detail: string;
}

/** How far it is. */
export interface BulkProgress {
  /** Tasks that were looked at. */
  readonly matched: number;
  /** Tasks that were changed, or would be. */
  readonly changed: number;
  /** Tasks that needed no change. */
  readonly unchanged: number;
  /** Tasks that it could not be applied to. */
  readonly failed: number;
  /** The first of these. */
  readonly errors: readonly BulkError[];
}

/** How many errors are listed. */
const MAX_BULK_ERRORS = 10;

/** The progress of an order that has not begun. */
export const NO_PROGRESS: BulkProgress = {
  matched: 0,
  changed: 0,
  unchanged: 0,
  failed: 0,
  errors: [],
};

/** What became of one task. */
export type BulkResult =
  | { readonly kind: "changed" }
  | { readonly kind: "unchanged" }
  | ({ readonly kind: "failed" } & BulkError);

/** Adds the results of some more tasks. */
export function addResults(
  progress: BulkProgress,
  results: readonly BulkResult[],
): BulkProgress {
  let { matched, changed, unchanged, failed } = progress;
  const errors = [...progress.errors];
  for (const result of results) {
    matched++;
    if (result.kind === "changed") changed++;
    else if (result.kind === "unchanged") unchanged++;
    else {
      failed++;
      const { id, code, detail } = result;
      if (errors.length < MAX_BULK_ERRORS) errors.push({ id, code, detail });
    }
  }
  return { matched, changed, unchanged, failed, errors };
}

/** The first position of an order. */
export function firstPosition({ ids }: BulkOrder): BulkPosition {
  return ids === undefined ? { kind: "filter" } : { kind: "ids", index: 0 };
}
