/**
 * Writes the rows of memories, within a transaction, and keeps the sums of
 * their namespaces.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import type { MemoryRow, NewMemory } from "../rows.ts";
import type { Change } from "../changes.ts";
import { MEMORIES, RowColumns } from "../row_columns.ts";
import type { ChangeCounter } from "./memory_reads.ts";
import type { NamespaceSums } from "./namespace_sums.ts";
import type { SnapshotRows } from "./snapshot_rows.ts";
import {
  type DatabaseRecord,
  prepareAll,
  type Statements,
} from "./row_columns.ts";

/** The fields of a row that sums and tombstones need. */
type MemoryHead = Pick<
  MemoryRow,
  "id" | "namespace" | "sizeBytes" | "agentId" | "supersededBy"
>;

const HEADS = new RowColumns<MemoryHead>({
  id: "id",
  namespace: "namespace",
  sizeBytes: "size_bytes",
  agentId: "agent_id",
  supersededBy: "superseded_by",
}, ["supersededBy"]);

const HEAD = `SELECT n, ${HEADS.selected} FROM memories`;

const STATEMENTS = {
  insert: `INSERT INTO memories${MEMORIES.inserted} ON CONFLICT DO NOTHING`,
  forgetTombstone: "DELETE FROM tombstones WHERE owner = ? AND id = ?",
  head: `${HEAD} WHERE owner = ? AND id = ?`,
  headsOfNamespace: `${HEAD} WHERE owner = ? AND namespace = ?
    ORDER BY id LIMIT ?`,
  supersede: `UPDATE memories SET superseded_by = ?, updated_ms = ?, change = ?
    WHERE n = ?`,
  reindex: `UPDATE memories SET sealed_index = ?, reindexed_change = ?
    WHERE owner = ? AND id = ?`,
  moveBlob: `UPDATE memories
    SET blob_id = ?, size_bytes = ?, updated_ms = ?, change = ?
    WHERE owner = ? AND id = ? AND blob_id = ?`,
  remove: "DELETE FROM memories WHERE n = ?",
  bury: `INSERT INTO tombstones VALUES(?, ?, ?, ?, ?)
    ON CONFLICT(owner, id) DO UPDATE SET namespace = excluded.namespace,
    deleted_ms = excluded.deleted_ms, change = excluded.change`,
};

/** Writes rows of a database. */
export class MemoryWrites {
  readonly #counter: ChangeCounter;
  readonly #sums: NamespaceSums;
  readonly #snapshots: SnapshotRows;
  readonly #statements: Statements<typeof STATEMENTS>;

  /**
   * Makes a writer that numbers its changes, updates the sums with each of
   * them, and drops an owner's snapshot when a row in it is removed or
   * reindexed.
   */
  constructor(
    db: DatabaseSync,
    { counter, sums, snapshots }: {
      readonly counter: ChangeCounter;
      readonly sums: NamespaceSums;
      readonly snapshots: SnapshotRows;
    },
  ) {
    this.#counter = counter;
    this.#sums = sums;
    this.#snapshots = snapshots;
    this.#statements = prepareAll(db, STATEMENTS);
  }

  /** Adds a row unless one of its id is there. */
  add(memory: NewMemory, nowMs: number): void {
    const { owner, id, namespace, sizeBytes, agentId } = memory;
    const change = this.#counter.next();
    const { insert, forgetTombstone } = this.#statements;
    const { changes } = insert.run(
      ...MEMORIES.toValues({ ...memory, updatedAtMs: nowMs, change }),
    );
    if (Number(changes) === 0) return;
    // A client that has not read the removal needs only the new row.
    forgetTombstone.run(owner, id);
    const [rows, memories, bytes] = [1, 1, sizeBytes];
    this.#sums.add({ owner, namespace, rows, memories, bytes, nowMs, change });
    if (agentId !== null) this.#sums.addAgent(owner, agentId, 1);
  }

  /**
   * Marks a row as replaced; does nothing when it is gone or marked already.
   */
  supersede(
    mark: Extract<Change, { readonly kind: "supersede" }>,
    nowMs: number,
  ): void {
    const { owner, id, supersededBy } = mark;
    const record = this.#statements.head.get(owner, id);
    if (record === undefined) return;
    const head = HEADS.readRow(record);
    if (head.supersededBy === supersededBy) return;
    const change = this.#counter.next();
    this.#statements.supersede.run(
      supersededBy,
      nowMs,
      change,
      readCount(record),
    );
    this.#sums.add({
      owner,
      namespace: head.namespace,
      rows: 0,
      memories: head.supersededBy === undefined ? -1 : 0,
      bytes: 0,
      nowMs,
      change,
    });
  }

  /**
   * Replaces a row's vector and metadata; does nothing when the row is gone.
   */
  reindex(
    { owner, id, sealedIndex }: Extract<Change, { readonly kind: "reindex" }>,
  ): void {
    const change = this.#counter.next();
    this.#statements.reindex.run(sealedIndex, change, owner, id);
    // A snapshot may hold words that the new entry is to be without, so it goes,
    // as it does with a removal.
    this.#snapshots.drop(owner);
  }

  /** Replaces a row's blob id; does nothing unless the row has `fromBlobId`. */
  moveBlob(
    move: Extract<Change, { readonly kind: "move_blob" }>,
    nowMs: number,
  ): void {
    const { owner, id, fromBlobId, blobId, sizeBytes } = move;
    const { head, moveBlob } = this.#statements;
    const record = head.get(owner, id);
    if (record === undefined) return;
    const { namespace, sizeBytes: before } = HEADS.readRow(record);
    const change = this.#counter.next();
    const { changes } = moveBlob.run(
      ...[blobId, sizeBytes, nowMs, change, owner, id, fromBlobId],
    );
    if (Number(changes) === 0) return;
    this.#sums.add({
      ...{ owner, namespace, rows: 0, memories: 0, nowMs, change },
      bytes: sizeBytes - before,
    });
  }

  /** Removes a row and leaves its tombstone. */
  remove(owner: string, id: string, nowMs: number): void {
    const record = this.#statements.head.get(owner, id);
    if (record === undefined) return;
    const { namespace } = HEADS.readRow(record);
    this.#removeAll([record], { owner, namespace, nowMs });
  }

  /**
   * Removes rows of a namespace, at most `limit` and the first ids first, and
   * leaves their tombstones.
   *
   * @returns the number of removed rows; fewer than `limit` when no more are
   * left
   */
  removeNamespace(
    of: { readonly owner: string; readonly namespace: string },
    options: { readonly nowMs: number; readonly limit: number },
  ): number {
    const { owner, namespace } = of;
    const { nowMs, limit } = options;
    const { headsOfNamespace } = this.#statements;
    const records = headsOfNamespace.all(owner, namespace, limit);
    this.#removeAll(records, { owner, namespace, nowMs });
    return records.length;
  }

  /**
   * Removes rows of one namespace and changes the sums once for all of them.
   */
  #removeAll(
    records: readonly DatabaseRecord[],
    { owner, namespace, nowMs }: {
      readonly owner: string;
      readonly namespace: string;
      readonly nowMs: number;
    },
  ): void {
    let [memories, bytes, change] = [0, 0, 0];
    const rowsOfAgents = new Map<string, number>();
    for (const record of records) {
      const { id, sizeBytes, agentId, supersededBy } = HEADS.readRow(record);
      change = this.#counter.next();
      this.#statements.remove.run(readCount(record));
      this.#statements.bury.run(owner, id, namespace, nowMs, change);
      if (supersededBy === undefined) memories--;
      bytes -= sizeBytes;
      if (agentId === null) continue;
      rowsOfAgents.set(agentId, (rowsOfAgents.get(agentId) ?? 0) - 1);
    }
    if (records.length === 0) return;
    this.#snapshots.drop(owner);
    const rows = -records.length;
    this.#sums.add({ owner, namespace, rows, memories, bytes, nowMs, change });
    for (const [agentId, count] of rowsOfAgents) {
      this.#sums.addAgent(owner, agentId, count);
    }
  }
}

function readCount(record: DatabaseRecord): number {
  return Number(record["n"]);
}
