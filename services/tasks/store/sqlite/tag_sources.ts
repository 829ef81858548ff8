/**
 * Finds the tasks of a list by the index of tags, where that looks at fewer
 * rows than the other indexes.
 *
 * @module
 */

import type { ListFilter } from "../list_query.ts";
import type { Condition, StreamSource } from "./list_stream.ts";
import type { Reader } from "./reader.ts";

/**
 * A tag with at most so many tasks is always read by its index. For a more
 * frequent one another index may lead to fewer tasks.
 */
const MAX_RARE = 2_000;
/**
 * At most so many rows of a tag are sorted for each page by creation, which
 * takes some milliseconds.
 */
const MAX_SORTED = 20_000;

/** What a list by tags needs. */
export interface TagList {
  /** The query of the list. */
  readonly query: ListFilter;
  /** The number of its tenant. */
  readonly tenant: number;
  /** The conditions of the list without those of its tags. */
  readonly others: readonly Condition[];
}

/**
 * The stream of the tasks with the rarest of the query's tags; undefined when
 * the query has no tags, or another index is better.
 */
export function tagSource(
  reader: Reader,
  { query, tenant, others }: TagList,
): StreamSource | undefined {
  const { tags = [], sort } = query;
  const left = (tag: string): readonly Condition[] => [
    ...others,
    ...tags.filter((one) => one !== tag).map((one) => hasTag(tenant, one)),
  ];
  const isSorted = sort !== "date";
  const isPlain = others.length === 0 && tags.length === 1;
  const most = isSorted && isPlain ? MAX_SORTED : MAX_RARE;
  let [rarest, least] = [tags[0], most + 1];
  for (const tag of tags) {
    const count = reader.number(
      "SELECT count(*) FROM (SELECT 1 FROM task_tags " +
        "WHERE tenant = ? AND tag = ? LIMIT ?)",
      tenant,
      tag,
      least,
    ) ?? 0;
    if (count < least) [rarest, least] = [tag, count];
    if (count === 0) break;
  }
  const isBest = least <= most || !isSorted && !hasIndex(query);
  if (rarest === undefined || !isBest) return undefined;
  return {
    from: "task_tags",
    isApart: true,
    prefix: { sql: "tenant = ? AND tag = ?", values: [tenant, rarest] },
    column: isSorted ? "created_ms" : "date_ms",
    conditions: left(rarest),
  };
}

/**
 * Whether an index by date, without tags, leaves out tasks that are not in the
 * list.
 */
function hasIndex(
  { workerIds, statuses, isDue, repeats, awaits }: ListFilter,
): boolean {
  return workerIds !== undefined || statuses !== undefined || isDue === true ||
    repeats === true || awaits !== undefined;
}

/** The condition that a task has a tag, which takes one step in the index. */
export function hasTag(tenant: number, tag: string): Condition {
  return {
    sql: "EXISTS(SELECT 1 FROM task_tags AS own WHERE own.tenant = ? AND " +
      "own.tag = ? AND own.date_ms = tasks.date_ms AND own.n = tasks.n)",
    values: [tenant, tag],
  };
}
