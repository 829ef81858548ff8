/**
 * Rows of listings as clients see them.
 *
 * @module
 */

import type { MemoryRow, Tombstone } from "../../store/memory_row.ts";
import type { NamespaceRow } from "../../store/store.ts";
import { wireTime } from "./wire_time.ts";

/** The version of what listings promise; a client that knows another begins anew. */
export const SNAPSHOT_VERSION = 2;

/** What listings tell of a memory. */
export interface MemoryView {
  /** Its id. */
  readonly memory_id: string;
  /** The namespace's name. */
  readonly namespace_id: string;
  /** Its blob. */
  readonly blob_id: string;
  /** When it was written (RFC 3339). */
  readonly created_at: string;
  /** When the row changed last (RFC 3339). */
  readonly updated_at: string;
  /** The blob's bytes. */
  readonly size: number;
  /** The public key of the delegate that wrote it. */
  readonly agent_id: string | null;
  /** The ledger package whose policy guards it. */
  readonly package_id: string | null;
  /** Whether recall finds it; a superseded one it leaves out. */
  readonly status: "active" | "superseded";
  /** When the blob store lets it go: never, as far as anybody knows. */
  readonly end_epoch: number | null;
  /** When that is (RFC 3339). */
  readonly expires_at: string | null;
  /** How much it matters, 0 to 1. */
  readonly importance: number | null;
  /** The memory whose place it takes. */
  readonly supersedes?: string;
  /** The memory that took its place. */
  readonly superseded_by?: string;
}

/** The view of a row. */
export function memoryView(memory: MemoryRow): MemoryView {
  const { supersedes, supersededBy } = memory;
  return {
    memory_id: memory.id,
    namespace_id: memory.namespace,
    blob_id: memory.blobId,
    created_at: wireTime(memory.createdAtMs),
    updated_at: wireTime(memory.updatedAtMs),
    size: memory.sizeBytes,
    agent_id: memory.agentId,
    package_id: memory.packageId,
    status: supersededBy === undefined ? "active" : "superseded",
    end_epoch: null,
    expires_at: null,
    importance: memory.importance,
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(supersededBy === undefined ? {} : { superseded_by: supersededBy }),
  };
}

/** What listings tell of a memory that is gone. */
export interface TombstoneView {
  /** Its id. */
  readonly memory_id: string;
  /** The namespace's name. */
  readonly namespace_id: string;
  /** When it was removed (RFC 3339). */
  readonly deleted_at: string;
}

/** The view of a tombstone. */
export function tombstoneView(tombstone: Tombstone): TombstoneView {
  return {
    memory_id: tombstone.id,
    namespace_id: tombstone.namespace,
    deleted_at: wireTime(tombstone.deletedAtMs),
  };
}

/** What listings tell of a namespace. */
export interface NamespaceView {
  /** Its id, which is its name. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** Memories in it. */
  readonly memory_count: number;
  /** Bytes of their blobs. */
  readonly storage_used: number;
  /** When one of them changed last (RFC 3339). */
  readonly updated_at: string;
}

/** The view of a namespace. */
export function namespaceView(namespace: NamespaceRow): NamespaceView {
  return {
    id: namespace.name,
    name: namespace.name,
    memory_count: namespace.memoryCount,
    storage_used: namespace.storageBytes,
    updated_at: wireTime(namespace.updatedAtMs),
  };
}
