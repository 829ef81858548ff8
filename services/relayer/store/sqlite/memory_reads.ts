/**
 * What is asked of the index's rows.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MemoryRow } from "../memory_row.ts";
import { memoryOf, type MemoryRecord } from "./memory_record.ts";

/** Which rows a scan is about. */
export interface ScanOptions {
  /** Most rows. */
  readonly limit: number;
  /** Where to go on. */
  readonly afterId?: string;
  /** Whose rows; everybody's when absent. */
  readonly owner?: string;
  /** Of which of the owner's namespaces; of all when absent. */
  readonly namespace?: string;
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
  scan(options: ScanOptions): readonly MemoryRow[] {
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
