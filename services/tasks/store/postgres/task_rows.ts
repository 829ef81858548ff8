/**
 * Builds tasks from rows, and the SQL that selects those rows.
 *
 * @module
 */

import type { Row, Rows, Runner } from "../../../shared/postgres/session.ts";
import type { SqlParameter } from "../../../shared/postgres/values.ts";
import type { Task } from "../../domain/task.ts";
import { decodeBody, joinBody } from "../task_body.ts";
import type { KnownTasks } from "./known_tasks.ts";

/**
 * The most bytes of payloads in an answer of several tasks, so that a page of
 * large tasks does not fill the memory. The first task is always returned.
 */
export const MAX_ANSWER_BYTES = 8_000_000;

/** What reading needs. */
export interface ReadParts {
  /** Runs the queries. */
  readonly runner: Runner;
  /** Where tasks that were read are noted. */
  readonly known: KnownTasks;
}

/**
 * The SQL of one or several tasks, without a limit on payloads. The sum with 0
 * keeps the server from beginning with all tasks of a tenant.
 */
export const SELECT_TASKS: string =
  "SELECT state.id, state.version, names.id AS tenant_id, state.state, " +
  "state.result, tasks.definition, tasks.data " +
  "FROM task_state AS state JOIN tasks ON tasks.id = state.id " +
  "JOIN tenants AS names ON names.tenant = state.tenant + 0";

/**
 * Selects the tasks that a query finds, in its order, up to a limit on
 * payloads. The query selects `id` and, in `at`, what orders the tasks with it.
 *
 * @param found the query; it may have parameters
 * @param maxBytes the SQL of the limit
 */
export function selectFound(
  found: string,
  { order = "at, id", maxBytes = String(MAX_ANSWER_BYTES) }: {
    readonly order?: string;
    readonly maxBytes?: string;
  } = {},
): string {
  // The lengths of payloads are known without reading them.
  return "SELECT id, at, version, tenant_id, state, result, definition, data " +
    "FROM (SELECT found.id, found.at, state.version, names.id AS tenant_id, " +
    "state.state, state.result, tasks.definition, tasks.data, " +
    "row_number() OVER places AS place, " +
    "sum(octet_length(tasks.data) + octet_length(state.state) + " +
    "coalesce(octet_length(state.result), 0)) " +
    `OVER places AS bytes FROM (${found}) AS found ` +
    "JOIN task_state AS state ON state.id = found.id " +
    "JOIN tasks ON tasks.id = state.id " +
    "JOIN tenants AS names ON names.tenant = state.tenant + 0 " +
    `WINDOW places AS (ORDER BY ${
      order.split(", ").map((name) => `found.${name}`).join(", ")
    } ROWS UNBOUNDED PRECEDING)) AS read ` +
    `WHERE place = 1 OR bytes <= ${maxBytes} ORDER BY place`;
}

/** Reads tasks, and notes them. */
export async function readTasks(
  { runner, known }: ReadParts,
  sql: string,
  parameters: readonly SqlParameter[],
): Promise<readonly Task[]> {
  return decodeTasks(await runner.query(sql, parameters), known);
}

/** Builds tasks from rows. */
export function decodeTasks(
  rows: Rows | readonly Row[],
  known: KnownTasks,
): readonly Task[] {
  return rows.map((row) => {
    const task = decodeBody(
      joinBody({
        definition: String(row["definition"]),
        state: String(row["state"]),
      }),
      {
        tenantId: String(row["tenant_id"]),
        id: String(row["id"]),
        version: Number(row["version"]),
        dataJson: String(row["data"]),
        resultJson: row["result"] === null ? undefined : String(row["result"]),
      },
    );
    known.note(task);
    return task;
  });
}
