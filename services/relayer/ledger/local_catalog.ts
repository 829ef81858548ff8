/**
 * The catalogue of blobs in the embedded ledger's file.
 *
 * @module
 */

import type {
  BlobCatalog,
  CatalogEntry,
  MovedBlob,
  NewCatalogEntry,
} from "../blobs/blob_store.ts";
import { RowColumns } from "../store/row_columns.ts";
import {
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "../store/sqlite/row_columns.ts";
import type { LedgerFile } from "./ledger_file.ts";

const BLOBS = new RowColumns<NewCatalogEntry>({
  owner: "owner",
  memoryId: "memory_id",
  namespace: "namespace",
  blobId: "blob_id",
  createdAtMs: "created_ms",
  agentId: "agent_id",
  sizeBytes: "size_bytes",
  sealedIndex: "sealed_index",
  importance: "importance",
  supersedes: "supersedes",
  memorySecret: "memory_secret",
}, ["sealedIndex", "importance", "supersedes", "memorySecret"]);

/** Selects an entry, and the memory that replaced it. */
const SELECT = `SELECT ${BLOBS.selected}, (SELECT replaced_by
    FROM replacements AS r
    WHERE r.owner = blobs.owner AND r.memory_id = blobs.memory_id)
  AS supersededBy FROM blobs WHERE owner = ?`;
const NEWEST = "ORDER BY created_ms DESC, memory_id DESC LIMIT ?";

const STATEMENTS = {
  insert: `INSERT INTO blobs${BLOBS.inserted}
    ON CONFLICT(owner, memory_id) DO NOTHING`,
  replace: `INSERT INTO replacements VALUES(?, ?, ?)
    ON CONFLICT DO UPDATE SET replaced_by = excluded.replaced_by`,
  overwrite: `UPDATE blobs
    SET memory_secret = zeroblob(length(memory_secret))
    WHERE owner = ? AND memory_id = ? AND memory_secret IS NOT NULL`,
  move: `UPDATE blobs SET blob_id = ?, size_bytes = ?, memory_secret = ?,
    sealed_index = coalesce(?, sealed_index)
    WHERE owner = ? AND memory_id = ?`,
  remove: "DELETE FROM blobs WHERE owner = ? AND memory_id = ?",
  removeReplacement:
    "DELETE FROM replacements WHERE owner = ? AND memory_id = ?",
  newest: `${SELECT} AND namespace = ? ${NEWEST}`,
  before: `${SELECT} AND namespace = ?
    AND (created_ms, memory_id) < (?, ?) ${NEWEST}`,
  one: `${SELECT} AND memory_id = ?`,
  holders: "SELECT count(*) AS holders FROM blobs WHERE blob_id = ?",
};

/** About how many bytes an entry takes in memory while it is queued. */
const ENTRY_BYTES = 512;

/**
 * Keeps the catalogue in the ledger's file; the opener of the file closes it.
 */
export class LocalCatalog implements BlobCatalog {
  readonly #file: LedgerFile;
  readonly #statements: Statements<typeof STATEMENTS>;

  /** The catalogue in an open file. */
  constructor(file: LedgerFile) {
    this.#file = file;
    this.#statements = prepareAll(file.db, STATEMENTS);
  }

  /**
   * Adds an entry, and notes which memory it replaces; adding it again changes
   * nothing. Durable when this resolves.
   */
  async add(entry: NewCatalogEntry): Promise<void> {
    const { owner, memoryId, supersedes } = entry;
    const { writes } = this.#file;
    const { insert, replace } = this.#statements;
    const noted = writes.add(
      () => void insert.run(...BLOBS.toValues(entry)),
      { bytes: ENTRY_BYTES + (entry.sealedIndex?.length ?? 0) },
    );
    if (supersedes === undefined) return await noted;
    await Promise.all([
      noted,
      writes.add(() => void replace.run(owner, supersedes, memoryId), {
        bytes: ENTRY_BYTES,
      }),
    ]);
  }

  /** Replaces the blob in a memory's entry; durable when this resolves. */
  async move(
    owner: string,
    memoryId: string,
    { blobId, sizeBytes, memorySecret, sealedIndex }: MovedBlob,
  ): Promise<void> {
    const { move } = this.#statements;
    const values = [
      ...[blobId, sizeBytes, memorySecret ?? null, sealedIndex ?? null],
      ...[owner, memoryId],
    ];
    await this.#file.writes.add(() => void move.run(...values), {
      bytes: ENTRY_BYTES + (sealedIndex?.length ?? 0),
    });
  }

  /**
   * Removes an entry. When this resolves the removal is durable, and a secret
   * of the entry is overwritten in the file and in the write-ahead log. A
   * memory that it replaced stays replaced.
   */
  async remove(owner: string, memoryId: string): Promise<void> {
    const { overwrite, remove, removeReplacement } = this.#statements;
    await this.#file.writes.add(() => {
      const { changes } = overwrite.run(owner, memoryId);
      if (Number(changes) > 0) this.#file.eraseLog();
      remove.run(owner, memoryId);
      removeReplacement.run(owner, memoryId);
    }, { bytes: ENTRY_BYTES });
  }

  /** Returns the entry of a memory; undefined when there is none. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async findEntry(
    owner: string,
    memoryId: string,
  ): Promise<CatalogEntry | undefined> {
    const { one } = this.#statements;
    const row = this.#file.errors.run(() => one.get(owner, memoryId));
    return row && readEntry(row);
  }

  /** How many memories, of any owner, have a blob. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async countHolders(blobId: string): Promise<number> {
    const { holders } = this.#statements;
    const row = this.#file.errors.run(() => holders.get(blobId));
    return Number(row?.["holders"] ?? 0);
  }

  /** Blobs of a namespace, the newest first, by (created, memory id). */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async list(
    owner: string,
    options: Parameters<BlobCatalog["list"]>[1],
  ): Promise<readonly CatalogEntry[]> {
    const { namespace, limit, after } = options;
    const { newest, before } = this.#statements;
    const rows = this.#file.errors.run(() => {
      if (after === undefined) return newest.all(owner, namespace, limit);
      const { createdAtMs, memoryId } = after;
      return before.all(owner, namespace, createdAtMs, memoryId, limit);
    });
    return rows.map(readEntry);
  }
}

function readEntry(record: DatabaseRecord): CatalogEntry {
  const { supersededBy } = record;
  return {
    ...BLOBS.readRow(record),
    supersededBy: typeof supersededBy === "string" ? supersededBy : undefined,
  };
}
