/**
 * Reads the events of tenants from the database, and removes those that are too
 * old or too many.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EventsQuery } from "../queries.ts";
import {
  type EventColumns,
  type EventPage,
  EVENTS_KEPT,
  EVENTS_KEPT_MS,
  readEvent,
} from "../stored.ts";
import { readNumber, readText, type Row } from "./reader.ts";
import type { ReadParts } from "./task_reads.ts";

/** Reads events. */
export class EventReads {
  readonly #parts: ReadParts;

  /** Takes the reader and what it needs. */
  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** The tenants that someone listens to; see {@linkcode Store.listeners}. */
  listeners(limit: number, afterId = ""): readonly string[] {
    // A tenant without an id has no events.
    return this.#parts.reader.rows(
      "SELECT id FROM tenants WHERE id > ? AND tenant IN " +
        "(SELECT tenant FROM listeners) ORDER BY id LIMIT ?",
      afterId,
      limit,
    ).map((row) => readText(row, "id"));
  }

  /** A page of a tenant's events; see {@linkcode Store.events}. */
  page({ tenantId, after, through, limit }: EventsQuery): EventPage {
    const { reader, interned } = this.#parts;
    const nothing = { events: [], end: "", isHeld: false };
    const tenant = interned.tenant(tenantId);
    if (tenant === undefined) return { ...nothing, isReset: true };
    return reader.snapshot(() => {
      const listener = reader.row(
        "SELECT log, dropped FROM listeners WHERE tenant = ?",
        tenant,
      );
      if (listener === undefined) return { ...nothing, isReset: true };
      const log = readText(listener, "log");
      const dropped = readNumber(listener, "dropped");
      const toCursor = (number: number): string => `${log}-${number}`;
      if (after === undefined) {
        const last = reader.number(
          "SELECT max(number) FROM events WHERE tenant = ?",
          tenant,
        );
        const end = toCursor(Math.max(last ?? 0, dropped));
        return { ...nothing, end, isReset: false };
      }
      const [ofLog, number = "x"] = after.split("-", 2);
      const isKept = ofLog === log && /^\d{1,15}$/.test(number) &&
        Number(number) >= dropped;
      const from = isKept ? Number(number) : dropped;
      const events = reader.rows(
        "SELECT number, source, type, at_ms, text, task, worker, job, grp, " +
          "key, date_ms FROM events LEFT JOIN lanes USING(lane) " +
          "WHERE events.tenant = ? AND number > ? AND number <= ? " +
          "ORDER BY number LIMIT ?",
        tenant,
        from,
        Number(through?.split("-", 2)[1] ?? Number.MAX_SAFE_INTEGER),
        limit,
      ).map((row) =>
        // The columns are those of the table, which has them as they are said.
        readEvent(
          row as unknown as EventColumns,
          toCursor(readNumber(row, "number")),
        )
      );
      const end = events.at(-1)?.cursor ?? toCursor(from);
      return { events, end, isReset: !isKept, isHeld: false };
    });
  }
}

/** Removes listeners whose time is over, and events. */
export class EventSweeper {
  readonly #endListeners: StatementSync;
  readonly #tenants: StatementSync;
  readonly #firstBeyond: StatementSync;
  readonly #lastOld: StatementSync;
  readonly #remove: StatementSync;
  readonly #drop: StatementSync;

  /** Prepares the statements. */
  constructor(db: DatabaseSync) {
    this.#endListeners = db.prepare(
      "DELETE FROM listeners WHERE until_ms <= ?",
    );
    // From one tenant of the index to the next, however many events each has.
    this.#tenants = db.prepare(
      "WITH RECURSIVE of(tenant) AS (SELECT min(tenant) FROM events UNION ALL " +
        "SELECT (SELECT min(tenant) FROM events WHERE tenant > of.tenant) " +
        "FROM of WHERE of.tenant IS NOT NULL) " +
        "SELECT tenant, log IS NOT NULL AS is_heard FROM of " +
        "LEFT JOIN listeners USING(tenant) WHERE tenant IS NOT NULL",
    );
    // Numbers of a tenant rise, so only a long range of them can be too many.
    this.#firstBeyond = db.prepare(
      "SELECT number FROM events WHERE tenant = ?1 AND (SELECT max(number) - " +
        "min(number) FROM events WHERE tenant = ?1) >= ?2 " +
        "ORDER BY number DESC LIMIT 1 OFFSET ?2",
    );
    this.#lastOld = db.prepare(
      "SELECT max(number) AS number FROM (SELECT number, at_ms FROM events " +
        "WHERE tenant = ? ORDER BY number LIMIT ?) WHERE at_ms <= ?",
    );
    this.#remove = db.prepare(
      "DELETE FROM events WHERE number IN (SELECT number FROM events " +
        "WHERE tenant = ? AND number <= ? ORDER BY number LIMIT ?) " +
        "RETURNING number",
    );
    this.#drop = db.prepare(
      "UPDATE listeners SET dropped = ? WHERE tenant = ?",
    );
  }

  /** Removes at most `limit` events, in a transaction, and returns how many. */
  sweep(nowMs: number, limit: number): number {
    this.#endListeners.run(nowMs);
    let left = limit;
    for (const { tenant = null, is_heard: isHeard } of this.#tenants.all()) {
      if (left <= 0) break;
      const through = isHeard === 1
        ? Math.max(
          numberOf(this.#firstBeyond.get(tenant, EVENTS_KEPT)),
          numberOf(this.#lastOld.get(tenant, left, nowMs - EVENTS_KEPT_MS)),
        )
        : Number.MAX_SAFE_INTEGER;
      if (through === 0) continue;
      const removed = this.#remove.all(tenant, through, left).map(numberOf);
      left -= removed.length;
      if (removed.length > 0) this.#drop.run(Math.max(...removed), tenant);
    }
    return limit - left;
  }
}

function numberOf(row: Row | undefined): number {
  return Number(row?.["number"] ?? 0);
}
