/**
 * Reads the events of tenants, and removes those that are too old or too many.
 *
 * @module
 */

import type { Pool } from "../../../shared/postgres/pool.ts";
import type { Runner } from "../../../shared/postgres/session.ts";
import type { EventsQuery } from "../queries.ts";
import {
  type EventColumns,
  type EventPage,
  EVENTS_KEPT,
  EVENTS_KEPT_MS,
  readEvent,
} from "../stored.ts";

/** What is known of a log, and an event of it, if there is one. */
type EventRow =
  & {
    readonly log: string;
    readonly dropped_xact: number;
    readonly dropped: number;
    /** Whether the log is that of the cursor, which is not too old. */
    readonly is_kept: boolean;
    /** The first transaction that may be under way. */
    readonly horizon: number;
    /** Whether there is something from it on. */
    readonly is_held: boolean;
  }
  & (
    | EventColumns & { readonly xact: number; readonly number: number }
    | { readonly xact: null }
  );

const CURSOR = /^([0-9a-f]{1,32})-(\d{1,18})-(\d{1,18})$/;

const MOST = String(Number.MAX_SAFE_INTEGER);

/** Reads events. */
export class EventReads {
  readonly #runner: Runner;

  /** Takes what runs the queries. */
  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /** The tenants that someone listens to; see {@linkcode Store.listeners}. */
  async listeners(limit: number, afterId = ""): Promise<readonly string[]> {
    const rows = await this.#runner.query<{ id: string }>(
      "SELECT id FROM tenants JOIN listeners USING(tenant) " +
        "WHERE id > $1::text ORDER BY id LIMIT $2::bigint",
      [afterId, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** A page of a tenant's events; see {@linkcode Store.events}. */
  async page(
    { tenantId, after, through, limit }: EventsQuery,
  ): Promise<EventPage> {
    const [, log = "", xact = "0", number = "0"] = CURSOR.exec(after ?? "") ??
      [];
    const [, , lastXact = MOST, last = MOST] = CURSOR.exec(through ?? "") ?? [];
    const rows = await this.#runner.query<EventRow>(
      "WITH of AS (SELECT of.*, pg_snapshot_xmin(pg_current_snapshot())" +
        "::text::bigint AS horizon, of.log = $2::text AND " +
        "(of.dropped_xact, of.dropped) <= ($3::bigint, $4::bigint) AS is_kept " +
        "FROM listeners AS of JOIN tenants USING(tenant) " +
        "WHERE tenants.id = $1::text) " +
        "SELECT of.log, of.dropped_xact, of.dropped, of.is_kept, of.horizon, " +
        "(of.xact >= horizon OR EXISTS(SELECT 1 FROM events WHERE " +
        "events.tenant = of.tenant AND events.xact >= horizon)) AS is_held, " +
        "there.* FROM of LEFT JOIN LATERAL (" +
        "SELECT events.xact, number, source, type, at_ms, text, task, worker, " +
        "job, grp, key, date_ms FROM events LEFT JOIN lanes USING(lane) " +
        "WHERE events.tenant = of.tenant AND (events.xact, number) > " +
        "(CASE WHEN is_kept THEN $3::bigint ELSE of.dropped_xact END, " +
        "CASE WHEN is_kept THEN $4::bigint ELSE of.dropped END) " +
        "AND events.xact < horizon " +
        "AND (events.xact, number) <= ($6::bigint, $7::bigint) ORDER BY events.xact, number " +
        "LIMIT $5::bigint) AS there ON true ORDER BY there.xact, there.number",
      [
        ...[tenantId, log, Number(xact), Number(number)],
        after === undefined ? 0 : limit,
        ...[Number(lastXact), Number(last)],
      ],
    );
    const [first] = rows;
    if (first === undefined) {
      return { events: [], end: "", isReset: true, isHeld: false };
    }
    const toCursor = (xact: number, number: number): string =>
      `${first.log}-${xact}-${number}`;
    const { is_held: isHeld, is_kept: isKept } = first;
    if (after === undefined) {
      // All before the horizon has ended; what has not comes later.
      const end = toCursor(first.horizon - 1, Number.MAX_SAFE_INTEGER);
      return { events: [], end, isReset: false, isHeld };
    }
    const events = rows.flatMap((row) =>
      row.xact === null ? [] : [readEvent(row, toCursor(row.xact, row.number))]
    );
    const end = events.at(-1)?.cursor ??
      (isKept ? after : toCursor(first.dropped_xact, first.dropped));
    return { events, end, isReset: !isKept, isHeld };
  }
}

/**
 * Removes listeners whose time is over, and at most `limit` events that are too
 * old, too many, or of another life of the database.
 *
 * @returns how many events were removed
 */
export async function sweepEvents(
  pool: Pool,
  nowMs: number,
  limit: number,
): Promise<number> {
  await pool.query("DELETE FROM listeners WHERE until_ms <= $1::bigint", [
    nowMs,
  ]);
  const tenants = await pool.query<{ tenant: number; is_heard: boolean }>(
    "WITH RECURSIVE of AS (SELECT min(tenant) AS tenant FROM events UNION ALL " +
      "SELECT (SELECT min(tenant) FROM events WHERE tenant > of.tenant) " +
      "FROM of WHERE of.tenant IS NOT NULL) " +
      "SELECT tenant, log IS NOT NULL AS is_heard FROM of " +
      "LEFT JOIN listeners USING(tenant) WHERE tenant IS NOT NULL",
  );
  let left = limit;
  for (const { tenant, is_heard: isHeard } of tenants) {
    if (left <= 0) break;
    const [row] = await pool.query<{ removed: number }>(
      "WITH oldest AS (SELECT xact, number, at_ms FROM events " +
        "WHERE tenant = $1::integer ORDER BY xact, number LIMIT $2::bigint), " +
        "first_kept AS (SELECT xact, number FROM events " +
        "WHERE tenant = $1::integer ORDER BY xact DESC, number DESC " +
        "LIMIT 1 OFFSET $3::bigint), " +
        "gone AS (SELECT xact, number FROM oldest WHERE NOT $4::boolean OR " +
        // A visible row of a transaction to come is from a restored copy.
        "at_ms <= $5::bigint OR xact >= " +
        "pg_snapshot_xmax(pg_current_snapshot())::text::bigint OR " +
        "(xact, number) <= (SELECT xact, number FROM first_kept)), " +
        "removed AS (DELETE FROM events USING gone " +
        "WHERE events.tenant = $1::integer AND events.xact = gone.xact AND " +
        "events.number = gone.number RETURNING events.xact, events.number), " +
        "last AS (SELECT xact, number FROM removed " +
        "ORDER BY xact DESC, number DESC LIMIT 1), " +
        "noted AS (UPDATE listeners SET dropped_xact = last.xact, " +
        "dropped = last.number FROM last WHERE tenant = $1::integer AND " +
        "(dropped_xact, listeners.dropped) < (last.xact, last.number)) " +
        "SELECT count(*) AS removed FROM removed",
      [tenant, left, EVENTS_KEPT, isHeard, nowMs - EVENTS_KEPT_MS],
    );
    left -= row?.removed ?? 0;
  }
  return limit - left;
}
