/**
 * Lists namespaces and memories.
 *
 * @module
 */

import type { CallOptions } from "./life.ts";
import {
  omitUndefined,
  readArray,
  readBoolean,
  readCount,
  readOptionalArray,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalString,
  readString,
} from "./answer_reader.ts";
import { optionalNumber, requireName, requireText } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";

/** Which page of namespaces to list. */
export interface ListNamespacesOptions extends CallOptions {
  /**
   * The `next_cursor` of the page before.
   *
   * @default the first page
   */
  readonly cursor?: string | undefined;
  /**
   * The most entries of the page; the relayer gives no more than 500.
   *
   * @default {100}
   */
  readonly limit?: number | undefined;
}

/** Which page of memories to list. */
export interface ListMemoriesOptions extends ListNamespacesOptions {
  /**
   * Only memories of this namespace. The page is filtered after it has arrived,
   * so it may be short or empty while `has_more` is true.
   *
   * @default all
   */
  readonly namespace?: string | undefined;
}

/** A namespace that has memories, and how much is in it. */
export interface NamespaceEntry {
  /** The same as `name`. */
  readonly id: string;
  /** What requests call the namespace. */
  readonly name: string;
  /** How many memories it has. */
  readonly memory_count: number;
  /** Bytes that the namespace's memories take. */
  readonly storage_used: number;
  /** When a memory of the namespace last changed. */
  readonly updated_at: string;
}

/** A page of namespaces. */
export interface NamespacesResult {
  /** The namespaces, ordered by their last change, latest last. */
  readonly namespaces: readonly NamespaceEntry[];
  /** The cursor of the next page. */
  readonly next_cursor: string | null;
  /** Whether there is a next page; the number of entries does not tell. */
  readonly has_more: boolean;
  /** Version of the listing; when it changes, begin again without a cursor. */
  readonly snapshot_version: number;
}

/** A memory, without its text. */
export interface MemoryEntry {
  /** By what the memory is deleted. */
  readonly memory_id: string;
  /** Name of its namespace. */
  readonly namespace_id: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** When it was written. */
  readonly created_at: string;
  /** When it changed last. */
  readonly updated_at: string;
  /** Bytes of its blob. */
  readonly size: number;
  /** Public key of the delegate that wrote the memory. */
  readonly agent_id: string | null;
  /** The package on the ledger that it belongs to. */
  readonly package_id: string | null;
  /** `active`, `superseded` or `expired`. */
  readonly status: string;
  /** The epoch of the blob store in which the memory's storage ends. */
  readonly end_epoch: number | null;
  /** When that epoch ends. */
  readonly expires_at: string | null;
  /** How important the memory is, 0 to 1. */
  readonly importance: number | null;
  /** The memory that this one replaced, if any. */
  readonly supersedes?: string;
  /** The memory that replaced this one, if any. */
  readonly superseded_by?: string;
}

/** A memory that was deleted. */
export interface DeletedMemory {
  /** What no request finds any longer. */
  readonly memory_id: string;
  /** Name of its namespace. */
  readonly namespace_id: string;
  /** When it was deleted. */
  readonly deleted_at: string;
}

/** A page of memories. */
export interface MemoriesResult extends Omit<NamespacesResult, "namespaces"> {
  /** The memories, ordered by their last change, latest last. */
  readonly memories: readonly MemoryEntry[];
  /** The memories that were deleted since the cursor's page. */
  readonly deleted: readonly DeletedMemory[];
  /** Whether the cursor is too old: begin again without one. */
  readonly must_resync: boolean;
}

/** Does what {@linkcode Mem.listNamespaces} says. */
export async function listNamespaces(
  parts: ClientParts,
  options: ListNamespacesOptions = {},
): Promise<NamespacesResult> {
  const json = await page(parts, { ...options, listing: "namespaces" });
  return {
    namespaces: readArray(json, "namespaces").map(readNamespace),
    ...readPage(json),
  };
}

/** Does what {@linkcode Mem.listMemories} says. */
export async function listMemories(
  parts: ClientParts,
  options: ListMemoriesOptions = {},
): Promise<MemoriesResult> {
  const { namespace } = options;
  if (namespace !== undefined) requireName(namespace, "namespace");
  const json = await page(parts, { ...options, listing: "memories" });
  const isWanted = ({ namespace_id }: { readonly namespace_id: string }) =>
    namespace === undefined || namespace_id === namespace;
  return {
    memories: readArray(json, "memories").map(readMemory).filter(isWanted),
    ...readPage(json),
    deleted: (readOptionalArray(json, "deleted") ?? []).map(readDeleted).filter(
      isWanted,
    ),
    must_resync: readOptionalBoolean(json, "must_resync") ?? false,
  };
}

interface PageOptions extends ListNamespacesOptions {
  readonly listing: "namespaces" | "memories";
}

async function page(
  parts: ClientParts,
  { listing, cursor, limit }: PageOptions,
): Promise<unknown> {
  const query = new URLSearchParams();
  if (cursor !== undefined) {
    query.set("updated_after", requireText(cursor, "cursor"));
  }
  if (limit !== undefined) {
    query.set("limit", String(optionalNumber(limit, "limit")));
  }
  const owner = await parts.owner.address();
  const path = `/v1/owners/${encodeURIComponent(owner)}/${listing}`;
  const { json } = await parts.exchange.send({
    method: "GET",
    path: `${query}` === "" ? path : `${path}?${query}`,
    timeoutMs: parts.requestTimeoutMs,
  });
  return json;
}

function readPage(
  json: unknown,
): Omit<NamespacesResult, "namespaces"> {
  return {
    next_cursor: readOptionalString(json, "next_cursor") ?? null,
    has_more: readBoolean(json, "has_more"),
    snapshot_version: readCount(json, "snapshot_version"),
  };
}

function readNamespace(json: unknown): NamespaceEntry {
  return {
    id: readString(json, "id"),
    name: readString(json, "name"),
    memory_count: readCount(json, "memory_count"),
    storage_used: readCount(json, "storage_used"),
    updated_at: readString(json, "updated_at"),
  };
}

function readMemory(json: unknown): MemoryEntry {
  return omitUndefined({
    memory_id: readString(json, "memory_id"),
    namespace_id: readString(json, "namespace_id"),
    blob_id: readString(json, "blob_id"),
    created_at: readString(json, "created_at"),
    updated_at: readString(json, "updated_at"),
    size: readCount(json, "size"),
    agent_id: readOptionalString(json, "agent_id") ?? null,
    package_id: readOptionalString(json, "package_id") ?? null,
    status: readString(json, "status"),
    end_epoch: readOptionalNumber(json, "end_epoch") ?? null,
    expires_at: readOptionalString(json, "expires_at") ?? null,
    importance: readOptionalNumber(json, "importance") ?? null,
    supersedes: readOptionalString(json, "supersedes"),
    superseded_by: readOptionalString(json, "superseded_by"),
  });
}

function readDeleted(json: unknown): DeletedMemory {
  return {
    memory_id: readString(json, "memory_id"),
    namespace_id: readString(json, "namespace_id"),
    deleted_at: readString(json, "deleted_at"),
  };
}
