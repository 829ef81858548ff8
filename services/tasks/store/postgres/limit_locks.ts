/**
 * The rows that those lock who count within a limit, so that what they counted
 * still holds at their commit, and those that take requests over from the inbox
 * of a tenant. Others of the database cannot lock them, as they could with
 * advisory locks. Only workers and tenants with limits or requests have some.
 *
 * @module
 */

import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Statement } from "../../../shared/postgres/transaction.ts";

/** A row to lock. */
export interface LimitRow {
  /** The tenant's number. */
  readonly tenant: number;
  /**
   * The worker's number, {@linkcode SHARED_LANE}, {@linkcode PLAN_LANE} or
   * {@linkcode INBOX_LANE}.
   */
  readonly lane: number;
}

/** Stands for the limits that workers of a tenant share. */
export const SHARED_LANE = 0;
/** Stands for the limit of a tenant's plan. */
export const PLAN_LANE: number = -1;
/** Stands for a tenant's requests in the inbox. */
export const INBOX_LANE: number = -2;

/** Makes the rows on demand. */
export class LimitLocks {
  readonly #pool: Pool;
  readonly #there = new Set<string>();

  /** Takes the connections to write over, by batches. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Makes the rows that are not there yet. */
  async demand(rows: readonly LimitRow[]): Promise<void> {
    const missing = rows.filter((row) => !this.#there.has(keyOf(row)));
    if (missing.length === 0) return;
    await this.#pool.batch([{
      sql: "INSERT INTO limits(tenant, lane) SELECT * FROM unnest(" +
        "$1::integer[], $2::integer[]) ON CONFLICT DO NOTHING",
      parameters: toColumns(missing),
    }]);
    for (const row of missing) this.#there.add(keyOf(row));
  }

  /** Has rows looked for again: another server may not have had them. */
  forget(rows: readonly LimitRow[]): void {
    for (const row of rows) this.#there.delete(keyOf(row));
  }
}

/** Locks rows until the end of the transaction, in the order of all others. */
export function lockStatement(rows: readonly LimitRow[]): Statement {
  return {
    sql: "SELECT 1 FROM limits WHERE (tenant, lane) IN (SELECT * FROM " +
      "unnest($1::integer[], $2::integer[])) ORDER BY tenant, lane FOR UPDATE",
    parameters: toColumns(rows),
  };
}

function toColumns(
  rows: readonly LimitRow[],
): readonly [readonly number[], readonly number[]] {
  return [rows.map(({ tenant }) => tenant), rows.map(({ lane }) => lane)];
}

function keyOf({ tenant, lane }: LimitRow): string {
  return `${tenant} ${lane}`;
}
