/**
 * One action done to many tasks: which ones, and how far it has come.
 *
 * @module
 */

import type { Actor } from "../../domain/records.ts";
import type { TaskEvent } from "../../domain/task_event.ts";
import type { TaskFilter } from "./task_filter.ts";

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

/** Which tasks, and what is done to each. */
export interface BulkOrder {
  /** What is done. */
  readonly action: BulkAction;
  /** Whose tasks. */
  readonly tenantId: string;
  /** Who ordered it. */
  readonly actor: Actor;
  /** The tasks by id; absent when a filter says which. */
  readonly ids?: readonly string[];
  /** The tasks by filter; absent when ids say which. */
  readonly filter?: TaskFilter;
  /** Most tasks that are looked at. */
  readonly limit: number;
  /** Whether nothing is done and only told what would be. */
  readonly isDryRun: boolean;
  /** When it was ordered; a filter means no tasks that were made later. */
  readonly orderedAtMs: number;
}

/** A task that the action could not be done to. */
export interface BulkError {
  /** The task. */
  readonly id: string;
  /** Why, for programs. */
  readonly code: string;
  /** Why, for people. */
  readonly detail: string;
}

/** How far it has come. */
export interface BulkProgress {
  /** Tasks that were looked at. */
  readonly matched: number;
  /** Tasks that were changed, or would be. */
  readonly changed: number;
  /** Tasks that are so already. */
  readonly unchanged: number;
  /** Tasks that it could not be done to. */
  readonly failed: number;
  /** The first of these. */
  readonly errors: readonly BulkError[];
}

/** Most errors that are told. */
export const MAX_BULK_ERRORS = 10;

/** The beginning. */
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

/** Progress with the results of some more tasks. */
export function addResults(
  progress: BulkProgress,
  results: readonly BulkResult[],
): BulkProgress {
  const { matched, errors } = progress;
  const count = (kind: BulkResult["kind"]): number =>
    results.reduce((sum, result) => sum + Number(result.kind === kind), 0);
  const failed = results.flatMap((result) =>
    result.kind === "failed"
      ? [{ id: result.id, code: result.code, detail: result.detail }]
      : []
  );
  return {
    matched: matched + results.length,
    changed: progress.changed + count("changed"),
    unchanged: progress.unchanged + count("unchanged"),
    failed: progress.failed + failed.length,
    errors: [...errors, ...failed].slice(0, MAX_BULK_ERRORS),
  };
}

/** The event of an action; removal has none of its own. */
export function eventOf(action: Exclude<BulkAction, "delete">): TaskEvent {
  return { kind: action };
}
