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

/** A namespace was indexed again. */
export interface RestoreResult {
  /** Memories that were indexed now. */
  readonly restored: number;
  /** Memories that were indexed already and have their blobs. */
  readonly skipped: number;
  /** Blobs that can never be opened or hold no text. */
  readonly failed: number;
  /**
   * Memories whose blobs are gone, indexed or not: their texts cannot be read
   * any longer. Absent with older relayers; 0 where the blob store cannot tell.
   */
  readonly missing?: number;
  /** Blobs that were found. */
  readonly total: number;
  /** The namespace. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
  /** Whether there is more than was looked at: restore again. */
  readonly truncated: boolean;
  /** The memories that were indexed now; absent with older relayers. */
  readonly restored_ids?: readonly string[];
  /**
   * Memories that only the client which encrypted them can restore: the relayer has
   * lost their vectors. `MemManual.restore` does it. They count as failed.
   */
  readonly needs_vectors?: readonly {
    /** The memory. */
    readonly memory_id: string;
    /** The blob that holds it. */
    readonly blob_id: string;
  }[];
}

/** A namespace was taken from the index. */
export interface ForgetResult extends Receipted {
  /** How many memories are found no more. */
  readonly deleted: number;
  /** The namespace. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
}

/** One memory was deleted. */
export interface DeleteMemoryResult extends Receipted {
  /** True. */
  readonly deleted: boolean;
  /** The memory. */
  readonly memory_id: string;
  /**
   * The blob that held it, which can no longer be opened; empty when the text
   * was not stored yet.
   */
  readonly blob_id: string;
}

/** What a namespace holds. */
export interface StatsResult {
  /** How many memories there are. */
  readonly memory_count: number;
  /** Bytes that they take, encrypted. */
  readonly storage_bytes: number;
  /** The namespace. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
}

const DEFAULT_RESTORE_LIMIT = 10;
/** Blobs are fetched, opened and embedded, so it has a deadline of its own. */
const RESTORE_TIMEOUT_MS = 60_000;

/**
 * Indexes the memories of a namespace that the blob store has and the index has
 * not.
 *
 * @param limit most memories to index now; the relayer takes 1 to 100
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not do it.
 */
export async function restore(
  parts: ClientParts,
  namespace: string,
  limit?: number,
): Promise<RestoreResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/restore",
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
    // Older relayers tell neither what failed nor whether there is more.
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
 * Takes all memories of a namespace from the index. Their blobs stay, and
 * `restore` brings them back.
 *
 * @throws {TypeError} When `namespace` is no name: nothing is forgotten by
 * leaving it out.
 * @throws {MemError} When the relayer does not do it.
 */
export async function forget(
  parts: ClientParts,
  namespace: string,
): Promise<ForgetResult> {
  const { json } = await parts.exchange.send({
    method: "POST",
    path: "/api/forget",
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

/**
 * Counts the memories of a namespace, or of the client's when none is named.
 *
 * @throws {TypeError} When `namespace` is no name.
 * @throws {MemError} When the relayer does not tell.
 */
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
 * Deletes a memory for good: it is found no more, and the key of its blob is
 * destroyed.
 *
 * @throws {MemError} When the owner has no such memory (404), or no memory can
 * have this id; that is not asked for. Or when the relayer does not do it.
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
    timeoutMs: parts.requestTimeoutMs,
  });
  return omitUndefined({
    deleted: readBoolean(json, "deleted"),
    memory_id: readString(json, "memory_id"),
    blob_id: readString(json, "blob_id"),
    receipt: readReceipt(json),
  });
}
