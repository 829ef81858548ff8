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
 * The tag of the query by which its tasks are found best; undefined when
 * another index is better. A few microseconds for a tag that is rare, and a
 * tenth of a millisecond for others, since counting stops.
 */
export function pickTag(
  reader: Reader,
  { query, tenant }: { readonly query: ListFilter; readonly tenant: number },
): string | undefined {
  const tags = query.tags ?? [];
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
  return least <= MAX_RARE || !hasIndex(query) ? rarest : undefined;
}

/** Whether an index without tags leaves out tasks that are not in the list. */
function hasIndex(
  { sort, workerIds, statuses, isDue, repeats, awaits }: ListFilter,
): boolean {
  return repeats === true ||
    sort === "date" && (workerIds !== undefined || statuses !== undefined ||
        isDue === true || awaits !== undefined);
}

/**
 * The tasks with a tag in the order of a list. Only the conditions that are
 * left need the tasks' own rows.
 */
export function tagSource(
  { sort }: ListFilter,
  { tenant, tag, left }: {
    readonly tenant: number;
    readonly tag: string;
    readonly left: readonly Condition[];
  },
): StreamSource {
  const [index, column] = sort === "date"
    ? ["sqlite_autoindex_task_tags_1", "task_date_ms"] as const
    : ["task_tags_by_creation", "task_created_ms"] as const;
  return {
    from: `task_tags AS tagged INDEXED BY ${index}` +
      (left.length === 0 ? "" : " CROSS JOIN tasks ON tasks.n = tagged.n"),
    prefix: { sql: "tagged.tenant = ? AND tag = ?", values: [tenant, tag] },
    column,
    number: "tagged.n",
    conditions: left,
  };
}

/** The condition that a task has a tag, which takes one step in the index. */
export function hasTag(tenant: number, tag: string): Condition {
  return {
    sql: "EXISTS(SELECT 1 FROM task_tags AS own WHERE own.tenant = ? " +
      "AND own.tag = ? AND own.task_date_ms = tasks.date_ms " +
      "AND own.n = tasks.n)",
    values: [tenant, tag],
  };
}
