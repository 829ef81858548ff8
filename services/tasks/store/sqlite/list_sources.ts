/**
 * Which parts of which indexes a list is made of.
 *
 * @module
 */

import { TAKEABLE_STATUSES } from "../../domain/placement.ts";
import { TASK_STATUSES } from "../../domain/task_status.ts";
import type { TaskQuery } from "../task_query.ts";
import {
  type Condition,
  listConditions,
  sortColumn,
} from "./list_conditions.ts";
import type { StreamSource } from "./list_stream.ts";
import type { Names } from "./names.ts";
import { numberOf, type Reader } from "./reader.ts";
import { statusCode, WAITING_CODE } from "./status_code.ts";

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
  query: Omit<TaskQuery, "after">,
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
  const chosen = [
    ...among("lane", lanes),
    ...among("status", statuses),
    ...conditions,
  ];
  if (query.sort === "date" && query.key !== undefined) {
    return [{
      index: "tasks_by_key",
      prefix: {
        sql: "tenant = ? AND key = ? AND key IS NOT NULL",
        values: [tenant, query.key],
      },
      column,
      conditions: chosen,
    }];
  }
  if (query.sort !== "date") {
    return [{
      index: "tasks_by_creation",
      prefix: { sql: "tenant = ?", values: [tenant] },
      column,
      conditions: chosen,
    }];
  }
  const ofPairs = (only: readonly number[] | undefined) =>
    pairsOf(parts.reader, { tenant, lanes, statuses: only }).map((pair) => ({
      index: "tasks_by_date",
      prefix: {
        sql: "tenant = ? AND lane = ? AND status = ?",
        values: [tenant, pair.lane, pair.status],
      },
      column,
      conditions,
    }));
  if (query.isDue !== true) return ofPairs(statuses);
  // Of those that wait all are due. Of the others few are, so these have an
  // index, which costs those that wait nothing.
  const waiting = statuses?.filter((status) => status === WAITING_CODE);
  const again = {
    index: "tasks_due_again",
    prefix: {
      sql: "tenant = ? AND rank IS NOT NULL AND status <> 2",
      values: [tenant],
    },
    column,
    conditions: chosen,
  };
  return [...ofPairs(waiting), again];
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
 * The workers of a tenant with the statuses their tasks are in. It costs two
 * steps in the index for each, however many tasks there are.
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
  let pair: LaneStatus | undefined = { lane: -1, status: -1 };
  while (true) {
    pair = nextPair(reader, tenant, pair);
    if (pair === undefined) return pairs;
    if (statuses?.includes(pair.status) ?? true) pairs.push(pair);
  }
}

/**
 * The pair behind another one. With `(lane, status) > (?, ?)` in one question the
 * database would walk over all tasks of the pair that it stands on.
 */
function nextPair(
  reader: Reader,
  tenant: number,
  { lane, status }: LaneStatus,
): LaneStatus | undefined {
  const select = "SELECT lane, status FROM tasks INDEXED BY tasks_by_date " +
    "WHERE tenant = ? AND ";
  const row = reader.row(
    `${select} lane = ? AND status > ? ORDER BY status LIMIT 1`,
    tenant,
    lane,
    status,
  ) ?? reader.row(
    `${select} lane > ? ORDER BY lane, status LIMIT 1`,
    tenant,
    lane,
  );
  return row &&
    { lane: numberOf(row, "lane"), status: numberOf(row, "status") };
}

/** The statuses that tasks of the list can have; undefined means all. */
function wantedStatuses(
  query: Omit<TaskQuery, "after">,
): readonly number[] | undefined {
  const { statuses, isDue } = query;
  const possible = isDue === true ? TAKEABLE_STATUSES : TASK_STATUSES;
  if (statuses === undefined) {
    return isDue === true ? possible.map(statusCode) : undefined;
  }
  return [...new Set(statuses)]
    .filter((status) => possible.includes(status)).map(statusCode);
}

function among(
  column: string,
  values: readonly number[] | undefined,
): readonly Condition[] {
  if (values === undefined) return [];
  const sql = `${column} IN (SELECT value FROM json_each(?))`;
  return [{ sql, values: [JSON.stringify(values)] }];
}
