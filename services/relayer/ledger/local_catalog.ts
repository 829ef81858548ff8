/**
 * The catalogue of blobs in the ledger's file.
 *
 * @module
 */

import type { StatementSync } from "node:sqlite";
import type {
  BlobCatalog,
  CatalogEntry,
  NewCatalogEntry,
} from "../blobs/blob_store.ts";
import type { LedgerFile } from "./ledger_file.ts";

const COLUMNS =
  "owner, memory_id, namespace, blob_id, created_ms, agent_id, size_bytes, " +
  "sealed_index, importance, supersedes";
/** A row, and what took its place. */
const SELECT =
  `SELECT ${COLUMNS}, (SELECT replaced_by FROM replacements AS r ` +
  "WHERE r.owner = blobs.owner AND r.memory_id = blobs.memory_id) " +
  "AS superseded_by FROM blobs WHERE owner = ?";

/** About what an entry takes in memory while it is queued. */
const ENTRY_BYTES = 512;

/** Keeps the catalogue in a file. Its opener closes the file. */
export class LocalCatalog implements BlobCatalog {
  readonly #file: LedgerFile;
  readonly #insert: StatementSync;
  readonly #replace: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteReplacement: StatementSync;
  readonly #newest: StatementSync;
  readonly #before: StatementSync;
  readonly #one: StatementSync;
  readonly #holders: StatementSync;

  /** The catalogue in an open file. */
  constructor(file: LedgerFile) {
    const { db } = file;
    this.#file = file;
    this.#insert = db.prepare(
      `INSERT INTO blobs(${COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ` +
        "ON CONFLICT(owner, memory_id) DO NOTHING",
    );
    this.#replace = db.prepare(
      "INSERT INTO replacements VALUES(?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET replaced_by = excluded.replaced_by",
    );
    this.#deleteReplacement = db.prepare(
      "DELETE FROM replacements WHERE owner = ? AND memory_id = ?",
    );
    this.#delete = db.prepare(
      "DELETE FROM blobs WHERE owner = ? AND memory_id = ?",
    );
    const select = `${SELECT} AND namespace = ?`;
    const order = "ORDER BY created_ms DESC, memory_id DESC LIMIT ?";
    this.#newest = db.prepare(`${select} ${order}`);
    this.#before = db.prepare(
      `${select} AND (created_ms, memory_id) < (?, ?) ${order}`,
    );
    this.#one = db.prepare(`${SELECT} AND memory_id = ?`);
    this.#holders = db.prepare(
      "SELECT count(*) AS holders FROM blobs WHERE blob_id = ?",
    );
  }

  /**
   * Notes a blob, and that it took another's place; noting it again changes
   * nothing. Durable when it answers.
   */
  async add(entry: NewCatalogEntry): Promise<void> {
    const { owner, memoryId, supersedes } = entry;
    const { writes } = this.#file;
    const noted = writes.add(
      () =>
        void this.#insert.run(
          entry.owner,
          entry.memoryId,
          entry.namespace,
          entry.blobId,
          entry.createdAtMs,
          entry.agentId,
          entry.sizeBytes,
          entry.sealedIndex ?? null,
          entry.importance ?? null,
          supersedes ?? null,
        ),
      { bytes: ENTRY_BYTES + (entry.sealedIndex?.length ?? 0) },
    );
    if (supersedes === undefined) return await noted;
    await Promise.all([
      noted,
      writes.add(() => void this.#replace.run(owner, supersedes, memoryId), {
        bytes: ENTRY_BYTES,
      }),
    ]);
  }

  /**
   * Forgets a blob; durable when it answers. What it took the place of stays
   * replaced.
   */
  async remove(owner: string, memoryId: string): Promise<void> {
    const { writes } = this.#file;
    await writes.add(() => {
      this.#delete.run(owner, memoryId);
      this.#deleteReplacement.run(owner, memoryId);
    }, { bytes: ENTRY_BYTES });
  }

  /** What is noted of a memory. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async entryOf(
    owner: string,
    memoryId: string,
  ): Promise<CatalogEntry | undefined> {
    const row = this.#file.errors.run(() => this.#one.get(owner, memoryId));
    return row === undefined ? undefined : entryOf(row);
  }

  /** How many memories, of any owner, have a blob. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async holdersOf(blobId: string): Promise<number> {
    const row = this.#file.errors.run(() => this.#holders.get(blobId));
    return Number(row?.["holders"] ?? 0);
  }

  /** Blobs of a namespace, the newest first, by (created, memory id). */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async list(
    owner: string,
    options: Parameters<BlobCatalog["list"]>[1],
  ): Promise<readonly CatalogEntry[]> {
    const { namespace, limit, after } = options;
    const rows = this.#file.errors.run(() =>
      after === undefined
        ? this.#newest.all(owner, namespace, limit)
        : this.#before.all(
          owner,
          namespace,
          after.createdAtMs,
          after.memoryId,
          limit,
        )
    );
    return rows.map(entryOf);
  }
}

function entryOf(row: Readonly<Record<string, unknown>>): CatalogEntry {
  const sealedIndex = row["sealed_index"];
  const { importance, supersedes, superseded_by: supersededBy } = row;
  return {
    blobId: String(row["blob_id"]),
    owner: String(row["owner"]),
    namespace: String(row["namespace"]),
    memoryId: String(row["memory_id"]),
    createdAtMs: Number(row["created_ms"]),
    agentId: String(row["agent_id"]),
    sizeBytes: Number(row["size_bytes"]),
    sealedIndex: sealedIndex instanceof Uint8Array ? sealedIndex : undefined,
    importance: typeof importance === "number" ? importance : undefined,
    supersedes: typeof supersedes === "string" ? supersedes : undefined,
    supersededBy: typeof supersededBy === "string" ? supersededBy : undefined,
  };
}
