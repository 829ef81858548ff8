/**
 * Lists namespaces and memories.
 *
 * @module
 */

import {
  readArray,
  readBoolean,
  readCount,
  readNullableNumber,
  readNullableString,
  readOptionalArray,
  readOptionalBoolean,
  readOptionalString,
  readString,
} from "./answer_reader.ts";
import { optionalNumber, requireName, requireText } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import type {
  DeletedMemory,
  ListMemoriesOptions,
  ListNamespacesOptions,
  MemoriesResult,
  MemoryEntry,
  NamespaceEntry,
  NamespacesResult,
} from "./listing_types.ts";

/**
 * Lists a page of the owner's namespaces.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not tell.
 */
export async function listNamespaces(
  parts: ClientParts,
  options: ListNamespacesOptions = {},
): Promise<NamespacesResult> {
  const json = await page(parts, { ...options, listing: "namespaces" });
  return {
    namespaces: readArray(json, "namespaces").map(namespaceOf),
    ...pageOf(json),
  };
}

/**
 * Lists a page of the owner's memories, without their texts.
 *
 * @throws {TypeError} When an argument is not what it must be.
 * @throws {MemError} When the relayer does not tell.
 */
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
    memories: readArray(json, "memories").map(memoryOf).filter(isWanted),
    ...pageOf(json),
    deleted: readOptionalArray(json, "deleted").map(deletedOf).filter(isWanted),
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

function pageOf(
  json: unknown,
): Pick<NamespacesResult, "next_cursor" | "has_more" | "snapshot_version"> {
  return {
    next_cursor: readNullableString(json, "next_cursor"),
    has_more: readBoolean(json, "has_more"),
    snapshot_version: readCount(json, "snapshot_version"),
  };
}

function namespaceOf(json: unknown): NamespaceEntry {
  return {
    id: readString(json, "id"),
    name: readString(json, "name"),
    memory_count: readCount(json, "memory_count"),
    storage_used: readCount(json, "storage_used"),
    updated_at: readString(json, "updated_at"),
  };
}

function memoryOf(json: unknown): MemoryEntry {
  const supersedes = readOptionalString(json, "supersedes");
  const supersededBy = readOptionalString(json, "superseded_by");
  return {
    memory_id: readString(json, "memory_id"),
    namespace_id: readString(json, "namespace_id"),
    blob_id: readString(json, "blob_id"),
    created_at: readString(json, "created_at"),
    updated_at: readString(json, "updated_at"),
    size: readCount(json, "size"),
    agent_id: readNullableString(json, "agent_id"),
    package_id: readNullableString(json, "package_id"),
    status: readString(json, "status"),
    end_epoch: readNullableNumber(json, "end_epoch"),
    expires_at: readNullableString(json, "expires_at"),
    importance: readNullableNumber(json, "importance"),
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(supersededBy === undefined ? {} : { superseded_by: supersededBy }),
  };
}

function deletedOf(json: unknown): DeletedMemory {
  return {
    memory_id: readString(json, "memory_id"),
    namespace_id: readString(json, "namespace_id"),
    deleted_at: readString(json, "deleted_at"),
  };
}
