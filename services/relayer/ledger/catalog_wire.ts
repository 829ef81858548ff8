/**
 * Entries of the catalogue of blobs as they go between a relayer and the ledger that
 * keeps the catalogue, and the names of the calls: methods of our own beside those
 * of a full node.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import type { CatalogEntry, MovedBlob } from "../blobs/blob_store.ts";

/** The methods. */
export const CatalogMethod = {
  add: "tercet_catalogAdd",
  move: "tercet_catalogMove",
  remove: "tercet_catalogRemove",
  entryOf: "tercet_catalogEntry",
  holdersOf: "tercet_catalogHolders",
  list: "tercet_catalogList",
} as const;

/** Most entries of an answer; longer lists are asked for in parts. */
export const MAX_LISTED = 100;

/** Longest text of an entry: ids, addresses and namespaces are far shorter. */
const MAX_TEXT_CHARS = 1_024;
/** Longest sealed index, in characters of Base64. */
const MAX_INDEX_CHARS = 1_048_576;

/** An entry as JSON. */
export function catalogEntryJson(
  entry: CatalogEntry,
): Readonly<Record<string, unknown>> {
  const sealedIndex = entry.sealedIndex?.toBase64();
  const memorySecret = entry.memorySecret?.toBase64();
  return { ...entry, sealedIndex, memorySecret };
}

/** The entry that some JSON is; undefined when it is not. */
export function catalogEntryOf(json: unknown): CatalogEntry | undefined {
  if (!isJsonObject(json)) return undefined;
  const { blobId, owner, namespace, memoryId, agentId } = json;
  const { createdAtMs, sizeBytes, importance } = json;
  const { supersedes, supersededBy } = json;
  const sealedIndex = bytesOf(json["sealedIndex"]);
  const memorySecret = bytesOf(json["memorySecret"]);
  if (
    !isText(blobId) || !isText(owner) || !isText(namespace) ||
    !isText(memoryId) || !isText(agentId) || !isCount(createdAtMs) ||
    !isCount(sizeBytes) || !isShare(importance) || sealedIndex === "invalid" ||
    memorySecret === "invalid" ||
    !isTextOrNone(supersedes) || !isTextOrNone(supersededBy)
  ) return undefined;
  return {
    ...{ blobId, owner, namespace, memoryId, agentId, createdAtMs, sizeBytes },
    ...{ sealedIndex, importance, memorySecret, supersedes, supersededBy },
  };
}

/** A moved blob as JSON. */
export function movedBlobJson(
  moved: MovedBlob,
): Readonly<Record<string, unknown>> {
  const sealedIndex = moved.sealedIndex?.toBase64();
  const memorySecret = moved.memorySecret?.toBase64();
  return { ...moved, sealedIndex, memorySecret };
}

/** The moved blob that some JSON is; undefined when it is not. */
export function movedBlobOf(json: unknown): MovedBlob | undefined {
  if (!isJsonObject(json)) return undefined;
  const { blobId, sizeBytes } = json;
  const memorySecret = bytesOf(json["memorySecret"]);
  const sealedIndex = bytesOf(json["sealedIndex"]);
  return isText(blobId) && isCount(sizeBytes) &&
      memorySecret !== "invalid" && sealedIndex !== "invalid"
    ? { blobId, sizeBytes, memorySecret, sealedIndex }
    : undefined;
}

/** Tells whether a value is a text that an entry can have. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT_CHARS;
}

/** Tells whether a value is a whole number from 0 on. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || isText(value);
}

function isShare(value: unknown): value is number | undefined {
  return value === undefined ||
    typeof value === "number" && value >= 0 && value <= 1;
}

function bytesOf(value: unknown): Uint8Array | undefined | "invalid" {
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value.length > MAX_INDEX_CHARS) {
    return "invalid";
  }
  try {
    return Uint8Array.fromBase64(value);
  } catch {
    // It is not Base64.
    return "invalid";
  }
}
