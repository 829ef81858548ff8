/**
 * A row of the index as the database has it.
 *
 * @module
 */

import type { MemoryRow, Tombstone } from "../memory_row.ts";

/** A row of the table of memories. */
export interface MemoryRecord {
  /** The row's number. */
  readonly n: number;
  /** As in {@linkcode MemoryRow.owner}. */
  readonly owner: string;
  /** As in {@linkcode MemoryRow.id}. */
  readonly id: string;
  /** As in {@linkcode MemoryRow.namespace}. */
  readonly namespace: string;
  /** As in {@linkcode MemoryRow.blobId}. */
  readonly blob_id: string;
  /** As in {@linkcode MemoryRow.sizeBytes}. */
  readonly size_bytes: number;
  /** As in {@linkcode MemoryRow.createdAtMs}. */
  readonly created_ms: number;
  /** As in {@linkcode MemoryRow.updatedAtMs}. */
  readonly updated_ms: number;
  /** As in {@linkcode MemoryRow.change}. */
  readonly change: number;
  /** As in {@linkcode MemoryRow.agentId}. */
  readonly agent_id: string | null;
  /** As in {@linkcode MemoryRow.packageId}. */
  readonly package_id: string | null;
  /** As in {@linkcode MemoryRow.importance}. */
  readonly importance: number | null;
  /** As in {@linkcode MemoryRow.keyId}. */
  readonly key_id: string | null;
  /** As in {@linkcode MemoryRow.supersedes}. */
  readonly supersedes: string | null;
  /** As in {@linkcode MemoryRow.supersededBy}. */
  readonly superseded_by: string | null;
  /** As in {@linkcode MemoryRow.sealedIndex}. */
  readonly sealed_index: Uint8Array;
}

/** A row of the table of tombstones. */
export interface TombstoneRecord {
  /** As in {@linkcode Tombstone.id}. */
  readonly id: string;
  /** As in {@linkcode Tombstone.namespace}. */
  readonly namespace: string;
  /** As in {@linkcode Tombstone.deletedAtMs}. */
  readonly deleted_ms: number;
  /** As in {@linkcode Tombstone.change}. */
  readonly change: number;
}

/** The row as the port shows it. */
export function memoryOf(row: MemoryRecord): MemoryRow {
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
    ...(row.key_id === null ? {} : { keyId: row.key_id }),
    sealedIndex: row.sealed_index,
    ...(row.supersedes === null ? {} : { supersedes: row.supersedes }),
    updatedAtMs: row.updated_ms,
    change: row.change,
    ...(row.superseded_by === null ? {} : { supersededBy: row.superseded_by }),
  };
}

/** The tombstone as the port shows it. */
export function tombstoneOf(row: TombstoneRecord): Tombstone {
  return {
    id: row.id,
    namespace: row.namespace,
    deletedAtMs: row.deleted_ms,
    change: row.change,
  };
}
