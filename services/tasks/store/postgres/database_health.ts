/**
 * What instances of tasks look for in the database beside what every service
 * does: counts that are not folded, and tasks that looks have passed over.
 *
 * @module
 */

import type { DatabaseHealth } from "../../../shared/postgres/database_health.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { FloorMisses } from "./due_floors.ts";

/** How the tables of tasks are. */
export interface TasksHealth {
  /** Added counts that were not folded yet; at most 100,000 are counted. */
  readonly unfoldedRows: number;
  /** What looks without floors have found below them since the last time. */
  readonly floorMisses: FloorMisses;
}

/** How the database of tasks is. */
export type TasksDatabaseHealth = DatabaseHealth & TasksHealth;

/** The most rows of additions that are counted. */
const MAX_COUNTED = 100_000;

const UNFOLDED = ["count_deltas", "usage_deltas", "activity_deltas"].map((
  table,
) =>
  `(SELECT count(*) FROM (SELECT FROM ${table} LIMIT ${MAX_COUNTED}) AS counted)`
).join(" + ");

/**
 * Reads how the tables are.
 *
 * @param takeFloorMisses gives, once each, what looks have found below floors
 */
export async function readTasksHealth(
  runner: Runner,
  takeFloorMisses: () => FloorMisses,
): Promise<TasksHealth> {
  const [unfolded] = await runner.query<{ rows: number }>(
    `SELECT ${UNFOLDED} AS rows`,
  );
  return {
    unfoldedRows: unfolded?.rows ?? 0,
    floorMisses: takeFloorMisses(),
  };
}
