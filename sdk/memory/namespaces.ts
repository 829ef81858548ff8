/**
 * Operations on whole namespaces, and the deletion of single memories.
 *
 * @module
 */

import {
  isObject,
  omitUndefined,
  readArray,
  readBoolean,
  readCount,
  readOptionalBoolean,
  readOptionalNumber,
  readString,
  readStrings,
} from "./answer_reader.ts";
import { optionalNumber, requireName } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import { MemError } from "./errors.ts";
import { canAskForJob } from "./job_status.ts";
import { readReceipt, type Receipted } from "./receipt.ts";
import { quote } from "./server_text.ts";

/** The result of restoring a namespace's index. */
export interface RestoreResult {
  /** How many memories were indexed by this call. */
  readonly restored: number;
  /** How many memories were indexed before and have their blobs. */
  readonly skipped: number;
  /** How many blobs cannot be decrypted or hold no text. */
  readonly failed: number;
  /**
   * How many memories have lost their blobs, whether indexed or not: their
   * texts cannot be read. Absent with older relayers; 0 where the blob store
   * cannot tell.
   */
  readonly missing?: number;
  /** How many blobs were found. */
  readonly total: number;
  /** The namespace that was restored. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
  /** Whether there are more blobs than this call looked at: restore again. */
  readonly truncated: boolean;
  /**
   * The ids of the memories that this call indexed; absent with older relayers.
   */
  readonly restored_ids?: readonly string[];
  /**
   * Memories that only a client which encrypted them can restore, because the
   * relayer has lost their vectors. `MemManual.restore` does so. They are
   * counted in `failed`.
   */
  readonly needs_vectors?: readonly {
    /** The memory that lacks a vector. */
    readonly memory_id: string;
    /** The blob that holds it. */
    readonly blob_id: string;
  }[];
}

/** The result of removing a namespace from the index. */
export interface ForgetResult extends Receipted {
  /** How many memories recall no longer finds. */
  readonly deleted: number;
  /** The namespace whose index was emptied. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
}

/** The result of deleting a memory. */
export interface DeleteMemoryResult extends Receipted {
  /** Always true. */
  readonly deleted: boolean;
  /** The memory that is gone. */
  readonly memory_id: string;
  /**
   * The blob that held the memory, which can no longer be decrypted; empty when
   * the text was not stored yet.
   */
  readonly blob_id: string;
}

/** The size of a namespace. */
export interface StatsResult {
  /** How many memories there are. */
  readonly memory_count: number;
  /** Bytes that they take, encrypted. */
  readonly storage_bytes: number;
  /** The namespace that was counted. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
}

const DEFAULT_RESTORE_LIMIT = 10;
/**
 * Timeout of `restore`. It is longer than the usual one, because blobs are
 * read, decrypted and embedded.
 */
const RESTORE_TIMEOUT_MS = 60_000;

/** Does what {@linkcode Mem.restore} says. */
export async function restore(
  parts: ClientParts,
  namespace: string,
  limit?: number,
): Promise<RestoreResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/restore",
    changes: true,
    readsMemories: true,
    body: {
      namespace: requireName(namespace, "namespace"),
      limit: optionalNumber(limit, "limit") ?? DEFAULT_RESTORE_LIMIT,
    },
    timeoutMs: RESTORE_TIMEOUT_MS,
  });
  const hasIds = isObject(json) && Array.isArray(json["restored_ids"]);
  return omitUndefined({
    restored: readCount(json, "restored"),
    skipped: readCount(json, "skipped"),
    // Older relayers report neither failures nor whether there is more.
    failed: readOptionalNumber(json, "failed") ?? 0,
    missing: readOptionalNumber(json, "missing"),
    total: readCount(json, "total"),
    namespace: readString(json, "namespace"),
    owner: readString(json, "owner"),
    truncated: readOptionalBoolean(json, "truncated") ?? false,
    restored_ids: hasIds ? readStrings(json, "restored_ids") : undefined,
    needs_vectors: isObject(json) && Array.isArray(json["needs_vectors"])
      ? readArray(json, "needs_vectors").map((entry) => ({
        memory_id: readString(entry, "memory_id"),
        blob_id: readString(entry, "blob_id"),
      }))
      : undefined,
  });
}

/**
 * Does what {@linkcode Mem.forget} says. The namespace has no default, so that a
 * call without it cannot remove the client's namespace.
 */
export async function forget(
  parts: ClientParts,
  namespace: string,
): Promise<ForgetResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/forget",
    changes: true,
    body: { namespace: requireName(namespace, "namespace") },
    timeoutMs: parts.requestTimeoutMs,
  });
  return omitUndefined({
    deleted: readCount(json, "deleted"),
    namespace: readString(json, "namespace"),
    owner: readString(json, "owner"),
    receipt: readReceipt(json),
  });
}

/** Does what {@linkcode Mem.stats} says. */
export async function stats(
  parts: ClientParts,
  namespace: string = parts.namespace,
): Promise<StatsResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/stats",
    body: { namespace: requireName(namespace, "namespace") },
    timeoutMs: parts.requestTimeoutMs,
  });
  return {
    memory_count: readCount(json, "memory_count"),
    storage_bytes: readCount(json, "storage_bytes"),
    namespace: readString(json, "namespace"),
    owner: readString(json, "owner"),
  };
}

const NOT_FOUND = 404;

/**
 * Does what {@linkcode Mem.deleteMemory} says; without a request when no memory
 * can have this id.
 */
export async function deleteMemory(
  parts: ClientParts,
  memoryId: string,
): Promise<DeleteMemoryResult> {
  if (!canAskForJob(memoryId)) {
    throw new MemError(
      `Cannot delete memory ${quote(memoryId)}: no memory has such an id`,
      { status: NOT_FOUND },
    );
  }
  const { json } = await parts.exchange.send({
    method: "DELETE",
    path: `/api/memories/${encodeURIComponent(memoryId)}`,
    changes: true,
    timeoutMs: parts.requestTimeoutMs,
  });
  return omitUndefined({
    deleted: readBoolean(json, "deleted"),
    memory_id: readString(json, "memory_id"),
    blob_id: readString(json, "blob_id"),
    receipt: readReceipt(json),
  });
}
