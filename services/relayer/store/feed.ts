/**
 * Cuts pages of an owner's feed, the same ones whatever engine has read the
 * rows.
 *
 * @module
 */

import type { MemoryRow, Tombstone } from "./rows.ts";
import type { FeedQuery, MemoryPage } from "./store.ts";

/** The numbers that a position is judged by. */
export interface FeedBounds {
  /** The number that all numbers of the database are greater than. */
  readonly first: number;
  /** The last number that was given. */
  readonly last: number;
  /** The highest number of a tombstone of the owner that is gone. */
  readonly swept: number;
  /**
   * Pairs of numbers: a change between the two was lost with a server, and its
   * number is never given again.
   *
   * @default there are none
   */
  readonly gaps?: readonly number[];
}

/** What was read after the position of a query. */
interface ReadFeed {
  /** Rows in the order of their changes, one more than the page may have. */
  readonly rows: readonly MemoryRow[];
  /** Tombstones in the same order, as many. */
  readonly removed: readonly Tombstone[];
  /** The numbers that the position is judged by. */
  readonly bounds: FeedBounds;
}

/**
 * Makes a page of at most `limit` rows and `limit` tombstones, both cut at the
 * same change, so that the next page misses none of either.
 */
export function cutFeed(
  { limit, after }: FeedQuery,
  { rows, removed, bounds }: ReadFeed,
): MemoryPage {
  const end = Math.min(findPageEnd(rows, limit), findPageEnd(removed, limit));
  const memories = rows.filter(({ change }) => change <= end);
  const deleted = removed.filter(({ change }) => change <= end);
  const last = Math.max(
    memories.at(-1)?.change ?? 0,
    deleted.at(-1)?.change ?? 0,
  );
  return {
    memories,
    deleted,
    hasMore: memories.length < rows.length || deleted.length < removed.length,
    next: last === 0 ? after : { change: last },
    mustResync: after !== undefined && isBehind(after.change, bounds),
  };
}

/**
 * Whether tombstones after a change were swept, or it is of another database, or
 * of a server that was lost with it.
 */
export function isBehind(
  change: number,
  { first, last, swept, gaps = [] }: FeedBounds,
): boolean {
  return change < Math.max(first, swept) || change > last ||
    gaps.some((bound, at) =>
      at % 2 === 1 && (gaps[at - 1] ?? 0) < change && change < bound
    );
}

/** The number of the last change that fits into a page of `limit` changes. */
function findPageEnd(
  changes: readonly { readonly change: number }[],
  limit: number,
): number {
  return changes.length > limit ? changes[limit - 1]?.change ?? 0 : Infinity;
}
