/**
 * What is read of memories: rows by id, scans, and the feed of changes.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MemoryRow, Tombstone } from "../rows.ts";
import type { FeedQuery, MemoryPage, ScanQuery } from "../store.ts";

/** A row of the table of memories; its columns are the members of {@linkcode MemoryRow}. */
interface MemoryRecord {
  readonly n: number;
  readonly owner: string;
  readonly id: string;
  readonly namespace: string;
  readonly blob_id: string;
  readonly size_bytes: number;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly change: number;
  readonly agent_id: string | null;
  readonly package_id: string | null;
  readonly importance: number | null;
  readonly key_id: string | null;
  readonly supersedes: string | null;
  readonly superseded_by: string | null;
  readonly sealed_index: Uint8Array;
}

/** A row of the table of tombstones. */
interface TombstoneRecord {
  readonly id: string;
  readonly namespace: string;
  readonly deleted_ms: number;
  readonly change: number;
}

/** The row as the port shows it. */
function memoryOf(row: MemoryRecord): MemoryRow {
  return {
    id: row.id,
    owner: row.owner,
    namespace: row.namespace,
    blobId: row.blob_id,
    sizeBytes: row.size_bytes,
    createdAtMs: row.created_ms,
    agentId: row.agent_id,
    packageId: row.package_id,
    importance: row.importance,
    keyId: row.key_id ?? undefined,
    sealedIndex: row.sealed_index,
    supersedes: row.supersedes ?? undefined,
    updatedAtMs: row.updated_ms,
    change: row.change,
    supersededBy: row.superseded_by ?? undefined,
  };
}

/** The tombstone as the port shows it. */
function tombstoneOf(row: TombstoneRecord): Tombstone {
  return {
    id: row.id,
    namespace: row.namespace,
    deletedAtMs: row.deleted_ms,
    change: row.change,
  };
}

/** Numbers for each millisecond that a database might have been used. */
const NUMBERS_PER_MS = 1_024;

/**
 * Gives numbers to changes. A new database begins at a number that comes from
 * the time of day, so that a client that remembers a number of a database that was
 * lost is seen to be behind the first number of the one that took its place.
 */
export class ChangeCounter {
  readonly #write: StatementSync;
  readonly #first: number;
  #last: number;
  #written: number;

  /** The counter of an open database. */
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

  /** All numbers of this database are greater. */
  get first(): number {
    return this.#first;
  }

  /** The highest number that was given. */
  get last(): number {
    return this.#last;
  }

  /** The next number. */
  next(): number {
    this.#last++;
    return this.#last;
  }

  /** Writes the highest number; to be called at the end of a transaction. */
  write(): void {
    if (this.#last === this.#written) return;
    this.#write.run(this.#last);
    this.#written = this.#last;
  }
}

/** Reads pages of changes. */
export class MemoryFeed {
  readonly #counter: ChangeCounter;
  readonly #memories: StatementSync;
  readonly #tombstones: StatementSync;
  readonly #swept: StatementSync;

  /** The feed of an open database. */
  constructor(db: DatabaseSync, counter: ChangeCounter) {
    this.#counter = counter;
    this.#memories = db.prepare(
      "SELECT * FROM memories WHERE owner = ? AND change > ? " +
        "ORDER BY change LIMIT ?",
    );
    this.#tombstones = db.prepare(
      "SELECT id, namespace, deleted_ms, change FROM tombstones " +
        "WHERE owner = ? AND change > ? ORDER BY change LIMIT ?",
    );
    this.#swept = db.prepare(
      "SELECT swept_change FROM owners WHERE owner = ?",
    );
  }

  /**
   * What changed after a position: at most `limit` rows and as many tombstones,
   * cut at the same change so that the next page misses neither.
   */
  page(
    owner: string,
    options: FeedQuery,
  ): MemoryPage {
    const { limit, after } = options;
    const afterChange = after?.change ?? 0;
    const rows = this.#memories.all(
      owner,
      afterChange,
      limit + 1,
    ) as unknown as MemoryRecord[];
    const removed = this.#tombstones.all(
      owner,
      afterChange,
      limit + 1,
    ) as unknown as TombstoneRecord[];
    const end = Math.min(endOf(rows, limit), endOf(removed, limit));
    const memories = rows.filter(({ change }) => change <= end);
    const deleted = removed.filter(({ change }) => change <= end);
    const last = Math.max(
      memories.at(-1)?.change ?? 0,
      deleted.at(-1)?.change ?? 0,
    );
    return {
      memories: memories.map(memoryOf),
      deleted: deleted.map(tombstoneOf),
      hasMore: memories.length < rows.length || deleted.length < removed.length,
      next: last === 0 ? after : { change: last },
      mustResync: after !== undefined && this.#isBehind(owner, after.change),
    };
  }

  /** Whether removals after a change are forgotten, or of another database. */
  #isBehind(owner: string, change: number): boolean {
    if (change < this.#counter.first || change > this.#counter.last) {
      return true;
    }
    return change < Number(this.#swept.get(owner)?.["swept_change"] ?? 0);
  }
}

/** The last change that a page of so many may have. */
function endOf(
  changes: readonly { readonly change: number }[],
  limit: number,
): number {
  return changes.length > limit ? changes[limit - 1]?.change ?? 0 : Infinity;
}

/** Reads rows of a database. */
export class MemoryReads {
  readonly #get: StatementSync;
  readonly #scanAll: StatementSync;
  readonly #scanTwins: StatementSync;
  readonly #scanOwner: StatementSync;
  readonly #scanNamespace: StatementSync;
  readonly #hasBlob: StatementSync;
  readonly #isBadBlob: StatementSync;

  /** A reader for an open database. */
  constructor(db: DatabaseSync) {
    const select = "SELECT * FROM memories WHERE";
    this.#get = db.prepare(`${select} owner = ? AND id = ?`);
    this.#scanAll = db.prepare(`${select} id > ? ORDER BY id, owner LIMIT ?`);
    this.#scanTwins = db.prepare(
      `${select} id = ? AND owner > ? ORDER BY owner`,
    );
    this.#scanOwner = db.prepare(
      `${select} owner = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#scanNamespace = db.prepare(
      `${select} owner = ? AND namespace = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#hasBlob = db.prepare(
      "SELECT 1 FROM memories WHERE owner = ? AND blob_id = ? LIMIT 1",
    );
    this.#isBadBlob = db.prepare(
      "SELECT 1 FROM bad_blobs WHERE owner = ? AND blob_id = ?",
    );
  }

  /** An owner's row. */
  get(owner: string, id: string): MemoryRow | undefined {
    const row = this.#get.get(owner, id);
    return row === undefined
      ? undefined
      : memoryOf(row as unknown as MemoryRecord);
  }

  /**
   * A page of rows by id.
   *
   * @throws {TypeError} when a namespace is named without its owner
   */
  scan(options: ScanQuery): readonly MemoryRow[] {
    const { limit, afterId = "", owner, namespace } = options;
    if (owner === undefined && namespace !== undefined) {
      throw new TypeError("Cannot scan a namespace: no owner is named");
    }
    if (owner === undefined) return this.#scanEverybody(afterId, limit);
    const rows = namespace === undefined
      ? this.#scanOwner.all(owner, afterId, limit)
      : this.#scanNamespace.all(owner, namespace, afterId, limit);
    return (rows as unknown as MemoryRecord[]).map(memoryOf);
  }

  /** Which of these blobs an owner's rows name. */
  indexedBlobs(owner: string, blobIds: readonly string[]): ReadonlySet<string> {
    return new Set(
      blobIds.filter((id) => this.#hasBlob.get(owner, id) !== undefined),
    );
  }

  /** Which of these blobs are noted as beyond restoring. */
  badBlobs(owner: string, blobIds: readonly string[]): ReadonlySet<string> {
    return new Set(
      blobIds.filter((id) => this.#isBadBlob.get(owner, id) !== undefined),
    );
  }

  /** The page may be longer by owners that have the last row's id as well. */
  #scanEverybody(afterId: string, limit: number): readonly MemoryRow[] {
    const rows = this.#scanAll.all(afterId, limit) as unknown as MemoryRecord[];
    const last = rows.at(-1);
    if (last === undefined) return [];
    const twins = this.#scanTwins.all(last.id, last.owner);
    return [...rows, ...twins as unknown as MemoryRecord[]].map(memoryOf);
  }
}
