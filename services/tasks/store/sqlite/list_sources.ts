/**
 * Turns the query of a list into streams of rows: its filter becomes SQL
 * conditions, and each worker and status that is asked for becomes a stream.
 *
 * @module
 */

import type { SQLInputValue } from "node:sqlite";
import {
  isBoundedBySort,
  type ListFilter,
  TIME_COLUMNS,
  wantedStatuses,
} from "../list_query.ts";
import { WAIT_CODES } from "../../domain/wait.ts";
import { WAITING_CODE } from "../task_body.ts";
import {
  type Condition,
  joined,
  type ListPlace,
  rangesBehind,
  type StreamRange,
  type StreamSource,
} from "./list_stream.ts";
import { hasTag, tagSource } from "./tag_sources.ts";
import type { ReadParts } from "./task_reads.ts";
import { type Reader, readNumber } from "./reader.ts";

/** Options of {@linkcode listSources}. */
interface SourceOptions {
  /** The part of the list that is wanted. */
  readonly range: StreamRange;
  /** The most tasks that are wanted; undefined for all. */
  readonly limit: number | undefined;
}

/**
 * The streams that have to be merged into the list. Streams whose first row is
 * known come last, in the order of those rows.
 */
export function listSources(
  query: ListFilter,
  parts: ReadParts,
  { range, limit }: SourceOptions,
): readonly StreamSource[] {
  const tenant = parts.interned.tenant(query.tenantId);
  if (tenant === undefined) return [];
  const queueIds = query.workerIds?.flatMap((id) =>
    parts.interned.queueId(query.tenantId, id) ?? []
  );
  const statuses = wantedStatuses(query);
  if (queueIds?.length === 0 || statuses?.length === 0) return [];
  const conditions = listConditions(query, tenant);
  const repeating = query.repeats === true;
  // What every row of an index of repeating tasks meets need not be checked.
  const ofRepeating = repeating
    ? listConditions({ ...query, repeats: undefined }, tenant)
    : conditions;
  const column = TIME_COLUMNS[query.sort];
  const inLanes = [...among("lane", queueIds), ...among("status", statuses)];
  const chosen = [...inLanes, ...conditions];
  if (query.sort === "date" && query.key !== undefined) {
    return [{
      from: "tasks INDEXED BY tasks_by_key",
      prefix: {
        sql: "tenant = ? AND key = ? AND key IS NOT NULL",
        values: [tenant, query.key],
      },
      column,
      conditions: chosen,
    }];
  }
  const byTag = query.tags && tagSource(parts.reader, {
    query,
    tenant,
    others: [
      ...inLanes,
      ...listConditions({ ...query, tags: undefined }, tenant),
    ],
  });
  if (byTag !== undefined) return [byTag];
  if (query.sort === "date" && query.awaits !== undefined) {
    return [{
      from: "tasks INDEXED BY tasks_awaiting",
      prefix: {
        sql: "tenant = ? AND awaits = ? AND awaits IS NOT NULL",
        values: [tenant, WAIT_CODES[query.awaits]],
      },
      column,
      conditions: chosen,
    }];
  }
  if (query.sort !== "date") {
    return [{
      from: "tasks INDEXED BY " +
        (repeating ? "tasks_repeating_by_creation" : "tasks_by_creation"),
      prefix: {
        sql: `tenant = ?${repeating ? IS_REPEATING : ""}`,
        values: [tenant],
      },
      column,
      conditions: [...inLanes, ...ofRepeating],
    }];
  }
  const ofPairs = (only: readonly number[] | undefined) =>
    listPairs(parts.reader, {
      tenant,
      among: [...among("lane", queueIds), ...among("status", only)],
      range,
      repeating,
      // The first rows are in the streams that begin first, unless a condition
      // excludes them.
      limit: ofRepeating.length > 0 || limit === undefined ? -1 : limit + 1,
    }).map((pair) => ({
      from: `tasks INDEXED BY ${pairIndex(repeating)}`,
      prefix: {
        sql: "tenant = ? AND lane = ? AND status = ?" +
          (repeating ? IS_REPEATING : ""),
        values: [tenant, pair.queueId, pair.status],
      },
      column,
      conditions: ofRepeating,
      first: pair.first,
    }));
  if (query.isDue !== true) return ofPairs(statuses);
  // All waiting tasks are due. Of the others only few are, so those have an
  // index of their own, which costs waiting tasks nothing.
  const waiting = statuses?.filter((status) => status === WAITING_CODE);
  const again = {
    from: "tasks INDEXED BY tasks_due_again",
    prefix: {
      sql: "tenant = ? AND rank IS NOT NULL AND status <> 2",
      values: [tenant],
    },
    column,
    conditions: chosen,
  };
  return [again, ...ofPairs(waiting)];
}

/** The condition of the indexes of repeating tasks. */
const IS_REPEATING = " AND repeats IS NOT NULL";

/** The index of the tasks of a worker in a status. */
function pairIndex(repeating: boolean): string {
  return repeating ? "tasks_repeating" : "tasks_by_date";
}

/** The tasks of one worker in one status. */
interface Pair {
  readonly queueId: number;
  readonly status: number;
  /** The first of these tasks in the order of the list. */
  readonly first: ListPlace;
}

/**
 * The workers of a tenant with the statuses of their tasks, ordered by the
 * first task of each. For each it takes three steps in an index, some
 * microseconds, however many tasks there are.
 */
function listPairs(
  reader: Reader,
  { tenant, among, range, limit, repeating }: {
    readonly tenant: number;
    readonly among: readonly Condition[];
    readonly range: StreamRange;
    /** Whether only tasks that repeat count. */
    readonly repeating: boolean;
    /** The most pairs; negative for all. */
    readonly limit: number;
  },
): readonly Pair[] {
  const { order, after } = range;
  const starts = rangesBehind(range, { column: "date_ms", after });
  const firsts = starts.map((start) =>
    joined([
      {
        sql: "tenant = pair.tenant AND lane = pair.lane AND " +
          `status = pair.status${repeating ? IS_REPEATING : ""}`,
        values: [],
      },
      ...start,
    ])
  );
  const first = firsts.map(({ sql }) =>
    `(SELECT n FROM tasks INDEXED BY ${pairIndex(repeating)} WHERE ${sql} ` +
    `ORDER BY date_ms ${order}, n ${order} LIMIT 1)`
  );
  const wanted = joined([{ sql: "tenant = ?", values: [tenant] }, ...among]);
  return reader.rows(
    "SELECT pair.lane, pair.status, first.date_ms AS at, first.n " +
      "FROM (SELECT tenant, lane, status FROM task_counts " +
      `WHERE ${wanted.sql} AND count <> 0) AS pair CROSS JOIN tasks AS first ` +
      `ON first.n = coalesce(${first.join()}, NULL) ` +
      `ORDER BY first.date_ms ${order}, first.n ${order} LIMIT ?`,
    ...wanted.values,
    ...firsts.flatMap(({ values }) => values),
    limit,
  ).map((row) => ({
    queueId: readNumber(row, "lane"),
    status: readNumber(row, "status"),
    first: { at: readNumber(row, "at"), n: readNumber(row, "n") },
  }));
}

function among(
  column: string,
  values: readonly number[] | undefined,
): readonly Condition[] {
  if (values === undefined) return [];
  const sql = `${column} IN (SELECT value FROM json_each(?))`;
  return [{ sql, values: [JSON.stringify(values)] }];
}

/**
 * The SQL conditions of a list, except for its tenant, worker, status and the
 * limits of the time that orders it.
 */
function listConditions(
  query: ListFilter,
  tenant: number,
): readonly Condition[] {
  const { fromMs, toMs, job, group, key, isDue, errorCode, repeats } = query;
  const conditions: Condition[] = [];
  function require(sql: string, ...values: readonly SQLInputValue[]): void {
    conditions.push({ sql, values });
  }
  if (!isBoundedBySort(query)) {
    const column = TIME_COLUMNS[query.by];
    if (fromMs !== undefined) require(`${column} >= ?`, fromMs);
    if (toMs !== undefined) require(`${column} <= ?`, toMs);
  }
  if (job !== undefined) require("job = ?", job);
  if (group !== undefined) require("grp = ?", group);
  if (key !== undefined) require("key = ?", key);
  if (isDue !== undefined) require(`rank IS ${isDue ? "NOT NULL" : "NULL"}`);
  // Searching the JSON text first is much cheaper than parsing the body. The
  // text may occur elsewhere in the body, so the second condition decides.
  if (errorCode !== undefined) {
    require("instr(body, ?) > 0", `"code":${JSON.stringify(errorCode)}`);
    require("json_extract(body, '$.error.code') = ?", errorCode);
  }
  if (repeats !== undefined) {
    require(`repeats IS ${repeats ? "NOT NULL" : "NULL"}`);
  }
  if (query.awaits !== undefined) {
    require("awaits = ?", WAIT_CODES[query.awaits]);
  }
  for (const tag of query.tags ?? []) conditions.push(hasTag(tenant, tag));
  for (const [name, value] of Object.entries(query.metadata ?? {})) {
    const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    require("instr(body, ?) > 0", pair);
    require(
      "EXISTS(SELECT 1 FROM json_each(body, '$.metadata') AS pair " +
        "WHERE pair.key = ? AND pair.value = ?)",
      name,
      value,
    );
  }
  return conditions;
}
