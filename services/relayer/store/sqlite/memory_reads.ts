/**
 * Reads memories: rows by id, scans, and the feed of changes. Also numbers
 * changes.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MemoryRow } from "../rows.ts";
import type { FeedQuery, MemoryPage, ScanQuery } from "../store.ts";
import { cutFeed, type FeedBounds, isBehind } from "../feed.ts";
import { MEMORIES, MEMORIES_BY_VECTOR, TOMBSTONES } from "../row_columns.ts";
import { prepareAll, type Statements } from "./row_columns.ts";

const SELECT = `SELECT ${MEMORIES.selected} FROM memories WHERE`;

/** How far the first change number of a new database grows per millisecond. */
const NUMBERS_PER_MS = 1_024;

/**
 * Gives numbers to changes. A new database begins at a number made from the
 * current time. So a client whose position is from an older, lost database is
 * below the first number of the new one, and is told to read everything again.
 */
export class ChangeCounter {
  readonly #write: StatementSync;
  readonly #first: number;
  #last: number;
  #written: number;

  /** Opens the counter of a database, and makes it in a new one. */
  constructor(db: DatabaseSync, nowMs: number) {
    db.prepare(
      "INSERT INTO numbers VALUES('first_change', ?1), ('last_change', ?1) " +
        "ON CONFLICT DO NOTHING",
    ).run(Math.max(0, nowMs) * NUMBERS_PER_MS);
    this.#write = db.prepare(
      "UPDATE numbers SET value = ? WHERE name = 'last_change'",
    );
    const read = db.prepare("SELECT value FROM numbers WHERE name = ?");
    this.#first = Number(read.get("first_change")?.["value"]);
    this.#last = Number(read.get("last_change")?.["value"]);
    this.#written = this.#last;
  }

  /** The number that all change numbers of this database are greater than. */
  get first(): number {
    return this.#first;
  }

  /** The number of the last change. */
  get last(): number {
    return this.#last;
  }

  /** The next number. */
  next(): number {
    this.#last++;
    return this.#last;
  }

  /** Stores the last number; to be called at the end of each transaction. */
  write(): void {
    if (this.#last === this.#written) return;
    this.#write.run(this.#last);
    this.#written = this.#last;
  }
}

/** The number that is there while an import has not ended. */
export const IMPORTING = "importing";

/** Whether an import to a database has begun and not ended. */
export function isImporting(db: DatabaseSync): boolean {
  const find = db.prepare("SELECT 1 FROM numbers WHERE name = ?");
  return find.get(IMPORTING) !== undefined;
}

const FEED_STATEMENTS = {
  memories: `${SELECT} owner = ? AND change > ? ORDER BY change LIMIT ?`,
  reindexed: `SELECT ${MEMORIES_BY_VECTOR.selected} FROM memories
    WHERE owner = ? AND reindexed_change > ? AND reindexed_change > change
    ORDER BY reindexed_change LIMIT ?`,
  others: `${SELECT} owner = ? AND change > ?
    AND coalesce(reindexed_change, 0) < change ORDER BY change LIMIT ?`,
  tombstones: `SELECT ${TOMBSTONES.selected} FROM tombstones
    WHERE owner = ? AND change > ? ORDER BY change LIMIT ?`,
  swept: "SELECT swept_change FROM owners WHERE owner = ?",
  head: `SELECT max(
    coalesce((SELECT max(change) FROM memories WHERE owner = ?1), 0),
    coalesce((SELECT max(reindexed_change) FROM memories
      WHERE owner = ?1 AND reindexed_change IS NOT NULL), 0),
    coalesce((SELECT max(change) FROM tombstones WHERE owner = ?1), 0),
    coalesce((SELECT swept_change FROM owners WHERE owner = ?1), 0)) AS change`,
  removal: `SELECT 1 FROM tombstones WHERE owner = ?1 AND change > ?2
    UNION ALL SELECT 1 FROM memories
    WHERE owner = ?1 AND reindexed_change > ?2 LIMIT 1`,
};

/** Reads pages of changes. */
export class MemoryFeed {
  readonly #counter: ChangeCounter;
  readonly #statements: Statements<typeof FEED_STATEMENTS>;

  /** The feed of an open database. */
  constructor(db: DatabaseSync, counter: ChangeCounter) {
    this.#counter = counter;
    this.#statements = prepareAll(db, FEED_STATEMENTS);
  }

  /**
   * Reads changes after a position: at most `limit` rows and `limit`
   * tombstones, both cut at the same change, so that the next page misses none
   * of either.
   */
  page(owner: string, query: FeedQuery): MemoryPage {
    return this.#cut(owner, query, this.#rows("memories", owner, query));
  }

  /** The same with new vectors, each by its number. */
  indexPage(owner: string, query: FeedQuery): MemoryPage {
    const rows = [
      ...this.#rows("others", owner, query),
      ...this.#rows("reindexed", owner, query),
    ].sort((one, other) => one.change - other.change);
    return this.#cut(owner, query, rows.slice(0, query.limit + 1));
  }

  #rows(
    of: "memories" | "others" | "reindexed",
    ...[owner, { limit, after }]: [string, FeedQuery]
  ): readonly MemoryRow[] {
    return this.#statements[of].all(owner, after?.change ?? 0, limit + 1)
      .map((record) => MEMORIES.readRow(record));
  }

  #cut(
    owner: string,
    { limit, after }: FeedQuery,
    rows: readonly MemoryRow[],
  ): MemoryPage {
    const from = after?.change ?? 0;
    const { tombstones } = this.#statements;
    const removed = tombstones.all(owner, from, limit + 1)
      .map((record) => TOMBSTONES.readRow(record));
    return cutFeed({ limit, after }, {
      ...{ rows, removed },
      bounds: this.#bounds(owner),
    });
  }

  /** The number of an owner's last change; 0 when there was none. */
  head(owner: string): number {
    return Number(this.#statements.head.get(owner)?.["change"]);
  }

  /**
   * Whether an index that has all changes up to a number lacks a removal, or a
   * new vector.
   */
  lacksRemoval(owner: string, change: number): boolean {
    return isBehind(change, this.#bounds(owner)) ||
      this.#statements.removal.get(owner, change) !== undefined;
  }

  #bounds(owner: string): FeedBounds {
    const swept = this.#statements.swept.get(owner)?.["swept_change"];
    const { first, last } = this.#counter;
    return { first, last, swept: Number(swept ?? 0) };
  }
}

const READ_STATEMENTS = {
  get: `${SELECT} owner = ? AND id = ?`,
  scanAll: `${SELECT} id > ? ORDER BY id, owner LIMIT ?`,
  scanTwins: `${SELECT} id = ? AND owner > ? ORDER BY owner`,
  scanOwner: `${SELECT} owner = ? AND id > ? ORDER BY id LIMIT ?`,
  isBadBlob: "SELECT 1 FROM bad_blobs WHERE owner = ? AND blob_id = ?",
};

/** Reads rows of a database. */
export class MemoryReads {
  readonly #statements: Statements<typeof READ_STATEMENTS>;

  /** A reader for an open database. */
  constructor(db: DatabaseSync) {
    this.#statements = prepareAll(db, READ_STATEMENTS);
  }

  /** An owner's row. */
  get(owner: string, id: string): MemoryRow | undefined {
    const record = this.#statements.get.get(owner, id);
    return record && MEMORIES.readRow(record);
  }

  /** A page of rows by id. */
  scan({ limit, afterId = "", owner }: ScanQuery): readonly MemoryRow[] {
    const { scanAll, scanOwner, scanTwins } = this.#statements;
    const records = owner === undefined
      ? scanAll.all(afterId, limit)
      : scanOwner.all(owner, afterId, limit);
    const rows = records.map((record) => MEMORIES.readRow(record));
    const last = rows.at(-1);
    if (owner !== undefined || last === undefined) return rows;
    // The next page begins after this id, so rows of other owners with the same
    // id are part of this page, beyond its limit.
    const twins = scanTwins.all(last.id, last.owner);
    return [...rows, ...twins.map((record) => MEMORIES.readRow(record))];
  }

  /** Returns those of these blobs that are noted as impossible to restore. */
  badBlobs(owner: string, blobIds: readonly string[]): ReadonlySet<string> {
    const { isBadBlob } = this.#statements;
    return new Set(
      blobIds.filter((id) => isBadBlob.get(owner, id) !== undefined),
    );
  }
}
