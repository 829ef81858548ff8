/**
 * What the query of a list means, whatever the database: the statuses and the
 * window of time that are looked at, and the limits on the work of a page.
 *
 * @module
 */

import { TAKEABLE_STATUSES } from "../domain/placement.ts";
import { TASK_STATUSES } from "../domain/task.ts";
import type { TaskQuery } from "./queries.ts";
import { statusCode } from "./task_body.ts";

/** The most rows that a page reads. */
export const MAX_LOOKED_AT = 20_000;
/** The most tasks that are counted. */
export const MAX_COUNTED = 10_000;

/**
 * A tag with at most so many tasks is always looked up by its own rows, which
 * may be sorted for each look.
 */
export const MAX_RARE = 5_000;

/** A query without its position. */
export type ListFilter = Omit<TaskQuery, "after">;

/** The columns of the times that limit or order a list. */
export const TIME_COLUMNS = {
  date: "date_ms",
  created_at: "created_ms",
  finished_at: "finished_ms",
} as const;

/**
 * The numbers of the statuses that tasks of the list may have; undefined means
 * all.
 */
export function wantedStatuses(
  { statuses, isDue }: ListFilter,
): readonly number[] | undefined {
  const possible = isDue === true ? TAKEABLE_STATUSES : TASK_STATUSES;
  if (statuses === undefined) {
    return isDue === true ? possible.map(statusCode) : undefined;
  }
  return [...new Set(statuses)]
    .filter((status) => possible.includes(status)).map(statusCode);
}

/** Tells whether the time that limits a list also orders it. */
export function isBoundedBySort({ by, sort }: ListFilter): boolean {
  return by === sort;
}

/**
 * The window of the time that orders a list, behind an instant at which the
 * list goes on; undefined when nothing is left.
 */
export function sortWindow(
  query: ListFilter,
  afterMs: number | undefined,
): ListWindow | undefined {
  const { fromMs = -Infinity, toMs = Infinity } = isBoundedBySort(query)
    ? query
    : {};
  const isInWindow = afterMs !== undefined && afterMs >= fromMs &&
    afterMs <= toMs;
  if (afterMs !== undefined && !isInWindow) {
    // A place after the window leaves no rows, one before it all of them.
    if (query.order === "asc" ? afterMs > toMs : afterMs < fromMs) {
      return undefined;
    }
  }
  return {
    fromMs: fromMs === -Infinity ? undefined : fromMs,
    toMs: toMs === Infinity ? undefined : toMs,
    isAfterInside: isInWindow,
  };
}

/** A window of time. */
export interface ListWindow {
  /** The earliest instant, inclusive; undefined without a limit. */
  readonly fromMs: number | undefined;
  /** The latest instant, inclusive; undefined without a limit. */
  readonly toMs: number | undefined;
  /** Whether the list goes on at a place within the window. */
  readonly isAfterInside: boolean;
}
