/**
 * Turns the query of a list into SQL that looks at a limited number of rows of
 * each source, in the list's order.
 *
 * @module
 */

import {
  isBoundedBySort,
  type ListFilter,
  type ListWindow,
  TIME_COLUMNS,
} from "../list_query.ts";
import type { TaskPosition } from "../queries.ts";
import { WAIT_CODES } from "../../domain/wait.ts";
import { WAITING_CODE } from "../task_body.ts";
import type { SqlBuilder } from "../../../shared/postgres/sql_builder.ts";
import { metadataLabel, tagLabel } from "./task_change.ts";

/** What a list is of, with the numbers of names. */
export interface ListSubject {
  /** The query. */
  readonly query: ListFilter;
  /** The tenant's number. */
  readonly tenant: number;
  /** The numbers of the workers; undefined for all. */
  readonly lanes: readonly number[] | undefined;
  /** The numbers of the statuses; undefined for all. */
  readonly statuses: readonly number[] | undefined;
  /** The tag whose tasks alone are looked at; undefined for other sources. */
  readonly tag: string | undefined;
  /** The window of the time that orders the list. */
  readonly window: ListWindow;
  /** Where the list goes on. */
  readonly after: TaskPosition | undefined;
}

/** How much is looked at. */
export interface LookLimits {
  /** The most rows of each source; undefined for all. */
  readonly rows: number | undefined;
  /** The most pairs of a worker and a status that are sources. */
  readonly pairs: number;
}

/**
 * Whether rows of the list's sources may fail its conditions, so that more have
 * to be looked at than are wanted.
 */
export function isFiltered(subject: ListSubject): boolean {
  const { query, lanes, statuses } = subject;
  const builder = { add: () => "" };
  if (subject.tag !== undefined) {
    const { conditions } = listConditions(besideTag(subject), builder);
    return conditions.length > 0 || lanes !== undefined ||
      statuses !== undefined;
  }
  const { conditions } = listConditions(
    query.key === undefined ? ofRepeating(query) : query,
    builder,
  );
  const isSingle = query.sort !== "date" || query.key !== undefined ||
    query.awaits !== undefined || query.isDue === true;
  return conditions.length > (query.key !== undefined ? 1 : 0) ||
    isSingle && (lanes !== undefined || statuses !== undefined);
}

/**
 * The SQL that selects, for each row that is looked at: `source`, a number for
 * the source it is of; `at` and `id`, its place; and `fits`, whether it meets
 * the conditions. A row of source 0 is a place from which on the list is not
 * looked at.
 */
export function lookSql(
  builder: SqlBuilder,
  subject: ListSubject,
  limits: LookLimits,
): string {
  const { query } = subject;
  if (subject.tag !== undefined) {
    return ofTag(builder, { ...subject, tag: subject.tag }, limits);
  }
  if (query.sort !== "date") return byCreation(builder, subject, limits);
  if (query.key !== undefined) {
    const key = builder.add(query.key, "text");
    return ofIndex(builder, subject, {
      limits,
      prefix: `state.key = ${key} AND state.key IS NOT NULL`,
    });
  }
  if (query.awaits !== undefined) {
    const awaits = builder.add(WAIT_CODES[query.awaits], "integer");
    return ofIndex(builder, subject, {
      limits,
      prefix: `state.awaits = ${awaits} AND state.awaits IS NOT NULL`,
    });
  }
  if (query.isDue !== true) return ofPairs(builder, subject, limits);
  // All waiting tasks are due. Of the others only few are, so those have an
  // index of their own, which costs waiting tasks nothing.
  const waiting = subject.statuses?.filter((one) => one === WAITING_CODE);
  return `(${
    ofIndex(builder, subject, {
      limits,
      prefix: `state.rank IS NOT NULL AND state.status <> ${WAITING_CODE}`,
    })
  }) UNION ALL ${ofPairs(builder, { ...subject, statuses: waiting }, limits)}`;
}

/** The SQL of the order of places. */
export function orderSql({ query: { order } }: ListSubject): string {
  return `at ${order}, id ${order}`;
}

/** Tasks in the order of their creation. */
function byCreation(
  builder: SqlBuilder,
  subject: ListSubject,
  { rows }: LookLimits,
): string {
  const { tenant, query } = subject;
  // Only the member itself reads so: in strings the quotes are escaped, and no
  // other member of a definition has objects with names of its own.
  const [time, repeating] = query.repeats === true
    ? ["(tasks.created_ms + 0)", ` AND strpos(definition, '"repeat":{') > 0`]
    : ["tasks.created_ms", ""];
  return `SELECT 1 AS source, tasks.created_ms AS at, tasks.id, ${
    fitsSql(builder, { ...subject, query: ofRepeating(query) })
  } AS fits FROM tasks JOIN task_state AS state ON state.id = tasks.id ` +
    `WHERE tasks.tenant = ${builder.add(tenant, "integer")}` +
    `${repeating}${rangeSql(builder, subject, [time, "tasks.id"])} ` +
    `ORDER BY ${time} ${query.order}, ` +
    `tasks.id ${query.order}${limitSql(builder, rows)}`;
}

/**
 * Tasks with a tag. Those in the order of their dates are sorted. The array
 * keeps the planner from reading all tasks where it expects many with the tag.
 */
function ofTag(
  builder: SqlBuilder,
  subject: ListSubject & { readonly tag: string },
  { rows }: LookLimits,
): string {
  const { query: { sort, order } } = subject;
  const query = besideTag(subject);
  const own = `FROM task_tags WHERE tenant = ${
    builder.add(subject.tenant, "integer")
  } AND tag = ${builder.add(JSON.stringify(subject.tag), "text")}`;
  const limit = limitSql(builder, rows);
  const fits = fitsSql(builder, { ...subject, query });
  if (sort === "date") {
    return `SELECT 1 AS source, state.date_ms AS at, state.id, ${fits} ` +
      `AS fits FROM ${fromSql({ ...subject, query })} ` +
      `WHERE state.id = ANY(ARRAY(SELECT id ${own}))` +
      `${rangeSql(builder, subject, DATE_PLACE)} ` +
      `ORDER BY ${placeOrder(subject, DATE_PLACE)}${limit}`;
  }
  const place = ["created_ms", "id"] as const;
  const page = `SELECT created_ms, id ${own}` +
    `${rangeSql(builder, subject, place)} ORDER BY created_ms ${order}, ` +
    `id ${order}${limit}`;
  return `SELECT 1 AS source, page.created_ms AS at, page.id, ${fits} AS fits ` +
    `FROM (${page}) AS page, LATERAL (SELECT * FROM task_state ` +
    "WHERE task_state.id = page.id OFFSET 0) AS state, " +
    "LATERAL (SELECT * FROM tasks WHERE tasks.id = page.id OFFSET 0) AS tasks";
}

/** What is left to check of the rows of a tag. */
function besideTag({ query, tag }: ListSubject): ListFilter {
  return { ...query, tags: query.tags?.filter((other) => other !== tag) };
}

/** Tasks of one index in the order of their dates. */
function ofIndex(
  builder: SqlBuilder,
  subject: ListSubject,
  { prefix, limits: { rows } }: {
    readonly prefix: string;
    readonly limits: LookLimits;
  },
): string {
  return `SELECT -1 AS source, state.date_ms AS at, state.id, ${
    fitsSql(builder, subject)
  } AS fits FROM ${fromSql(subject)} ` +
    `WHERE state.tenant = ${builder.add(subject.tenant, "integer")} AND ` +
    `${prefix}${rangeSql(builder, subject, DATE_PLACE)} ` +
    `ORDER BY ${placeOrder(subject, DATE_PLACE)}${limitSql(builder, rows)}`;
}

/**
 * Tasks of pairs of a worker and a status, those whose first task comes first.
 * For each pair that has tasks it takes a few steps in an index, however many
 * tasks there are.
 */
function ofPairs(
  builder: SqlBuilder,
  subject: ListSubject,
  { rows, pairs }: LookLimits,
): string {
  const { order, repeats } = subject.query;
  const place = repeats === true
    ? ["(state.date_ms + 0)", "state.id"] as const
    : DATE_PLACE;
  const byPlace = placeOrder(subject, place);
  const tenant = builder.add(subject.tenant, "integer");
  const inPair = `state.tenant = ${tenant} AND state.lane = pair.lane AND ` +
    `state.status = pair.status${repeats === true ? " AND state.repeats" : ""}${
      rangeSql(builder, subject, place)
    }`;
  const among = ["lane", "status"].map((column) => {
    const values = column === "lane" ? subject.lanes : subject.statuses;
    return values === undefined
      ? ""
      : ` AND ${column} = ANY(${builder.add(values, "integer[]")})`;
  }).join("");
  const counted = ["task_counts", "count_deltas"].map((table) =>
    `SELECT lane, status, count FROM ${table} WHERE tenant = ${tenant}${among}`
  ).join(" UNION ALL ");
  const { query, lanes: _, statuses: __, ...rest } = subject;
  const conditions = {
    ...rest,
    query: ofRepeating(query),
    lanes: undefined,
    statuses: undefined,
  };
  const most = builder.add(pairs, "bigint");
  return "SELECT * FROM (WITH pair AS MATERIALIZED (" +
    "SELECT pair.lane, pair.status, first.at, first.id, " +
    `row_number() OVER (ORDER BY first.at ${order}, first.id ${order}) ` +
    "AS source FROM (SELECT lane, status FROM " +
    `(${counted}) AS counted GROUP BY lane, status HAVING sum(count) <> 0) ` +
    "AS pair, LATERAL (SELECT state.date_ms AS at, state.id " +
    `FROM task_state AS state WHERE ${inPair} ` +
    `ORDER BY ${byPlace} LIMIT 1) AS first ` +
    `ORDER BY source LIMIT ${most} + 1) ` +
    "SELECT pair.source, looked.at, looked.id, looked.fits FROM pair, " +
    "LATERAL (SELECT state.date_ms AS at, state.id, " +
    `${fitsSql(builder, conditions)} AS fits FROM ${fromSql(subject)} ` +
    `WHERE ${inPair} ORDER BY ${byPlace}` +
    `${limitSql(builder, rows)}) AS looked WHERE pair.source <= ${most} ` +
    "UNION ALL SELECT 0, at, id, false FROM pair " +
    `WHERE source > ${most}) AS of_pairs`;
}

const DATE_PLACE = ["state.date_ms", "state.id"] as const;

function placeOrder(
  { query: { order } }: ListSubject,
  [time, id]: readonly [string, string],
): string {
  return `${time} ${order}, ${id} ${order}`;
}

/**
 * What is left to check of rows from an index of repeating tasks, if the query
 * has its rows from one.
 */
function ofRepeating(query: ListFilter): ListFilter {
  return query.repeats === true ? { ...query, repeats: undefined } : query;
}

function limitSql(builder: SqlBuilder, rows: number | undefined): string {
  return rows === undefined ? "" : ` LIMIT ${builder.add(rows, "bigint")}`;
}

/** The limits of the time that orders the list, and the place behind which. */
function rangeSql(
  builder: SqlBuilder,
  { query: { order }, window, after }: ListSubject,
  [time, id]: readonly [string, string],
): string {
  const { fromMs, toMs, isAfterInside } = window;
  const ms = (value: number): string => builder.add(value, "bigint");
  let sql = "";
  if (fromMs !== undefined) sql += ` AND ${time} >= ${ms(fromMs)}`;
  if (toMs !== undefined) sql += ` AND ${time} <= ${ms(toMs)}`;
  if (after === undefined || !isAfterInside) return sql;
  return `${sql} AND (${time}, ${id}) ${order === "asc" ? ">" : "<"} ` +
    `(${ms(after.sortMs)}, ${builder.add(after.id, "text")})`;
}

/** The tables that the conditions need. */
function fromSql({ query }: ListSubject): string {
  const { needsDefinition } = listConditions(query, { add: () => "" });
  return needsDefinition
    ? "task_state AS state JOIN tasks ON tasks.id = state.id"
    : "task_state AS state";
}

/** Whether a row meets all conditions. */
function fitsSql(
  builder: SqlBuilder,
  { query, lanes, statuses }: ListSubject,
): string {
  const conditions = [...listConditions(query, builder).conditions];
  if (lanes !== undefined) {
    conditions.push(`state.lane = ANY(${builder.add(lanes, "integer[]")})`);
  }
  if (statuses !== undefined) {
    conditions.push(
      `state.status = ANY(${builder.add(statuses, "integer[]")})`,
    );
  }
  return conditions.length === 0
    ? "true"
    : `coalesce(${conditions.join(" AND ")}, false)`;
}

/**
 * The conditions of a list, except for its tenant, worker, status and the limits
 * of the time that orders it, and whether they need the definition.
 */
function listConditions(
  query: ListFilter,
  builder: Pick<SqlBuilder, "add">,
): {
  readonly conditions: readonly string[];
  readonly needsDefinition: boolean;
} {
  const { fromMs, toMs, job, group, key, isDue, errorCode, repeats } = query;
  const conditions: string[] = [];
  let needsDefinition = false;
  if (!isBoundedBySort(query)) {
    const isCreation = query.by === "created_at";
    const column = `${isCreation ? "tasks" : "state"}.${
      TIME_COLUMNS[query.by]
    }`;
    for (const [limit, sign] of [[fromMs, ">="], [toMs, "<="]] as const) {
      if (limit === undefined) continue;
      conditions.push(`${column} ${sign} ${builder.add(limit, "bigint")}`);
      needsDefinition ||= isCreation;
    }
  }
  for (
    const [column, value] of [
      ["job", job],
      ["grp", group],
      ["key", key],
      ["error_code", errorCode],
    ] as const
  ) {
    if (value === undefined) continue;
    conditions.push(`state.${column} = ${builder.add(value, "text")}`);
  }
  if (isDue !== undefined) {
    conditions.push(`state.rank IS ${isDue ? "NOT NULL" : "NULL"}`);
  }
  if (repeats !== undefined) {
    conditions.push(`state.repeats IS ${repeats ? "" : "NOT "}TRUE`);
  }
  if (query.awaits !== undefined) {
    const awaits = builder.add(WAIT_CODES[query.awaits], "integer");
    conditions.push(
      `state.awaits = ${awaits}`,
      `strpos(state.state, '"wait":{"for":{') > 0`,
    );
  }
  const labels = [
    ...(query.tags ?? []).map(tagLabel),
    ...Object.entries(query.metadata ?? {}).map(([name, value]) =>
      metadataLabel(name, value)
    ),
  ];
  for (const label of labels) {
    needsDefinition = true;
    conditions.push(`strpos(tasks.labels, ${builder.add(label, "text")}) > 0`);
  }
  return { conditions, needsDefinition };
}
