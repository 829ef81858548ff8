/**
 * Which parts of which indexes a list is made of.
 *
 * @module
 */

import { isFinal, TASK_STATUSES } from "../../domain/task_status.ts";
import type { TaskQuery } from "../task_query.ts";
import {
  type Condition,
  listConditions,
  sortColumn,
} from "./list_conditions.ts";
import type { StreamSource } from "./list_stream.ts";
import type { Names } from "./names.ts";
import { numberOf, type Reader } from "./reader.ts";
import { statusCode } from "./status_code.ts";

/** The tasks of one worker in one status. */
export interface LaneStatus {
  /** The worker's number. */
  readonly lane: number;
  /** The status's number. */
  readonly status: number;
}

/** What finding the sources needs. */
export interface SourceParts {
  /** The connection. */
  readonly reader: Reader;
  /** Numbers of tenants and workers. */
  readonly names: Names;
}

/** The streams whose merger is the list. */
export function listSources(
  query: TaskQuery,
  parts: SourceParts,
): readonly StreamSource[] {
  const tenant = parts.names.tenant(query.tenantId);
  if (tenant === undefined) return [];
  const lanes = query.workerIds?.flatMap((id) =>
    parts.names.lane(query.tenantId, id) ?? []
  );
  const statuses = wantedStatuses(query);
  if (lanes?.length === 0 || statuses?.length === 0) return [];
  const conditions = listConditions(query);
  const column = sortColumn(query);
  if (query.sort === "date" && query.key === undefined) {
    return pairsOf(parts.reader, { tenant, lanes, statuses }).map((pair) => ({
      index: "tasks_by_date",
      prefix: {
        sql: "tenant = ? AND lane = ? AND status = ?",
        values: [tenant, pair.lane, pair.status],
      },
      column,
      conditions,
    }));
  }
  const chosen = [
    ...among("lane", lanes),
    ...among("status", statuses),
    ...conditions,
  ];
  return query.sort === "date" && query.key !== undefined
    ? [{
      index: "tasks_by_key",
      prefix: {
        sql: "tenant = ? AND key = ? AND key IS NOT NULL",
        values: [tenant, query.key],
      },
      column,
      conditions: chosen,
    }]
    : [{
      index: "tasks_by_creation",
      prefix: { sql: "tenant = ?", values: [tenant] },
      column,
      conditions: chosen,
    }];
}

/** Options of {@linkcode pairsOf}. */
export interface PairsOptions {
  /** The tenant's number. */
  readonly tenant: number;
  /** Only these workers. */
  readonly lanes?: readonly number[] | undefined;
  /** Only these statuses. */
  readonly statuses?: readonly number[] | undefined;
}

/**
 * The workers of a tenant with the statuses their tasks are in. It costs one
 * step in the index for each, however many tasks there are.
 */
export function pairsOf(
  reader: Reader,
  options: PairsOptions,
): readonly LaneStatus[] {
  const { tenant, lanes, statuses } = options;
  if (lanes !== undefined) {
    const codes = statuses ?? TASK_STATUSES.map(statusCode);
    return [...new Set(lanes)].flatMap((lane) =>
      codes.map((status) => ({ lane, status }))
    );
  }
  const pairs: LaneStatus[] = [];
  let [lane, status] = [-1, -1];
  while (true) {
    const row = reader.row(
      "SELECT lane, status FROM tasks INDEXED BY tasks_by_date " +
        "WHERE tenant = ? AND (lane, status) > (?, ?) " +
        "ORDER BY lane, status LIMIT 1",
      tenant,
      lane,
      status,
    );
    if (row === undefined) return pairs;
    [lane, status] = [numberOf(row, "lane"), numberOf(row, "status")];
    if (statuses?.includes(status) ?? true) pairs.push({ lane, status });
  }
}

/** The statuses that tasks of the list can have; undefined means all. */
function wantedStatuses(query: TaskQuery): readonly number[] | undefined {
  const { statuses, isDue } = query;
  // Only live tasks may be taken.
  const possible = (statuses ?? TASK_STATUSES).filter((status) =>
    isDue !== true || !isFinal(status)
  );
  return statuses === undefined && isDue !== true
    ? undefined
    : [...new Set(possible)].map(statusCode);
}

function among(
  column: string,
  values: readonly number[] | undefined,
): readonly Condition[] {
  if (values === undefined) return [];
  const sql = `${column} IN (SELECT value FROM json_each(?))`;
  return [{ sql, values: [JSON.stringify(values)] }];
}
