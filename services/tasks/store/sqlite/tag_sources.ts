/**
 * Finds the tasks of a list by the index of tags, where that looks at fewer
 * rows than the other indexes.
 *
 * @module
 */

import { type ListFilter, MAX_RARE, TIME_COLUMNS } from "../list_query.ts";
import type { Condition, StreamSource } from "./list_stream.ts";
import type { Reader } from "./reader.ts";

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
 * the query has no tags, or another index may lead to fewer tasks. Those of a
 * frequent tag are not read by creation: sorting them would take long.
 */
export function tagSource(
  reader: Reader,
  { query, tenant, others }: TagList,
): StreamSource | undefined {
  const { tags = [] } = query;
  let [rarest, least] = [tags[0], MAX_RARE + 1];
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
  const isBest = least <= MAX_RARE || !hasIndex(query);
  if (rarest === undefined || !isBest) return undefined;
  return {
    from: "task_tags",
    isApart: true,
    prefix: { sql: "tenant = ? AND tag = ?", values: [tenant, rarest] },
    column: TIME_COLUMNS[query.sort],
    conditions: [
      ...others,
      ...tags.filter((tag) => tag !== rarest).map((tag) => hasTag(tenant, tag)),
    ],
  };
}

/** Whether another index has the order and fewer tasks than all. */
function hasIndex(
  { sort, workerIds, statuses, isDue, repeats, awaits }: ListFilter,
): boolean {
  return sort !== "date" || workerIds !== undefined || statuses !== undefined ||
    isDue === true ||
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
