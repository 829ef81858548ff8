/**
 * The filter of a list as conditions on rows.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
import type { TaskQuery } from "../task_query.ts";

/** A condition with the values it asks for. */
export interface Condition {
  /** What must hold. */
  readonly sql: string;
  /** The values, in the order of the question marks. */
  readonly values: readonly SQLInputValue[];
}

/** All of some conditions; an empty text when there are none. */
export function joined(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The column of each time that bounds or orders a list. */
const TIME_COLUMNS = {
  date: "date_ms",
  created_at: "created_ms",
  finished_at: "finished_ms",
} as const;

/** The column that orders a list. */
export function sortColumn(query: Omit<TaskQuery, "after">): string {
  return TIME_COLUMNS[query.sort];
}

/** Whether the time that bounds a list is the one that orders it. */
export function isBoundedBySort(query: Omit<TaskQuery, "after">): boolean {
  return query.by === query.sort;
}

/**
 * What a row of a list has to satisfy beside its tenant, its worker, its status
 * and bounds of the time that orders it.
 */
export function listConditions(
  query: Omit<TaskQuery, "after">,
): readonly Condition[] {
  const { fromMs, toMs, job, group, key, isDue, errorCode } = query;
  const conditions: Condition[] = [];
  function demand(sql: string, ...values: readonly SQLInputValue[]): void {
    conditions.push({ sql, values });
  }
  if (!isBoundedBySort(query)) {
    const column = TIME_COLUMNS[query.by];
    if (fromMs !== undefined) demand(`${column} >= ?`, fromMs);
    if (toMs !== undefined) demand(`${column} <= ?`, toMs);
  }
  if (job !== undefined) demand("job = ?", job);
  if (group !== undefined) demand("grp = ?", group);
  if (key !== undefined) demand("key = ?", key);
  if (isDue !== undefined) demand(`rank IS ${isDue ? "NOT NULL" : "NULL"}`);
  // Looking for the JSON text first is much cheaper than reading the body; it
  // may be found elsewhere in it, so the second look decides.
  if (errorCode !== undefined) {
    demand("instr(body, ?) > 0", `"code":${JSON.stringify(errorCode)}`);
    demand("json_extract(body, '$.error.code') = ?", errorCode);
  }
  for (const tag of query.tags ?? []) {
    demand("instr(body, ?) > 0", JSON.stringify(tag));
    demand(
      "EXISTS(SELECT 1 FROM json_each(body, '$.tags') WHERE value = ?)",
      tag,
    );
  }
  for (const [name, value] of Object.entries(query.metadata ?? {})) {
    const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    demand("instr(body, ?) > 0", pair);
    demand(
      "EXISTS(SELECT 1 FROM json_each(body, '$.metadata') AS pair " +
        "WHERE pair.key = ? AND pair.value = ?)",
      name,
      value,
    );
  }
  return conditions;
}
