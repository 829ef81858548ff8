/**
 * JSON-RPC methods of the catalogue of blobs, for relayers that send the
 * credential: with them a relayer that has lost everything can restore. The
 * methods are our own, beside those of a full node; client and server convert
 * entries with the functions here.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import type {
  BlobCatalog,
  CatalogEntry,
  MovedBlob,
} from "../blobs/blob_store.ts";
import {
  badParams,
  base64Of,
  optionsOf,
  type RpcMethod,
  type RpcOutcome,
} from "./rpc_call.ts";

/** The names of the methods. */
export const CatalogMethod = {
  add: "tercet_catalogAdd",
  move: "tercet_catalogMove",
  remove: "tercet_catalogRemove",
  entryOf: "tercet_catalogEntry",
  holdersOf: "tercet_catalogHolders",
  list: "tercet_catalogList",
} as const;

/** Most entries of an answer; longer lists take several calls. */
export const MAX_LISTED = 100;

/** Longest text of an entry: ids, addresses and namespaces are far shorter. */
const MAX_TEXT_CHARS = 1_024;
/** Most bytes of a sealed index: a megabyte of Base64. */
const MAX_SEALED_BYTES = 786_432;

/** The methods over a catalogue, by name. */
export function catalogMethods(
  catalog: BlobCatalog,
): ReadonlyMap<string, RpcMethod> {
  return new Map<string, RpcMethod>([
    [CatalogMethod.add, async ([json]) => {
      const entry = catalogEntryOf(json);
      if (entry === undefined) return badParams("it is no entry");
      const { supersededBy: _known, ...added } = entry;
      await catalog.add(added);
      return { result: true };
    }],
    [CatalogMethod.move, async ([owner, memoryId, json]) => {
      const moved = movedBlobOf(json);
      if (!isText(owner) || !isText(memoryId)) return noTexts();
      if (moved === undefined) return badParams("it is no blob");
      await catalog.move(owner, memoryId, moved);
      return { result: true };
    }],
    [CatalogMethod.remove, async ([owner, memoryId]) => {
      if (!isText(owner) || !isText(memoryId)) return noTexts();
      await catalog.remove(owner, memoryId);
      return { result: true };
    }],
    [CatalogMethod.entryOf, async ([owner, memoryId]) => {
      if (!isText(owner) || !isText(memoryId)) return noTexts();
      const entry = await catalog.entryOf(owner, memoryId);
      return { result: entry === undefined ? null : entryJson(entry) };
    }],
    [CatalogMethod.holdersOf, async ([blobId]) => {
      if (!isText(blobId)) return noTexts();
      return { result: await catalog.holdersOf(blobId) };
    }],
    [CatalogMethod.list, ([owner, options]) => list(catalog, owner, options)],
  ]);
}

function noTexts(): RpcOutcome {
  return badParams("ids are texts");
}

async function list(
  catalog: BlobCatalog,
  owner: unknown,
  options: unknown,
): Promise<RpcOutcome> {
  const { namespace, limit, after } = optionsOf(options);
  if (!isText(owner) || !isText(namespace)) return noTexts();
  if (!isCount(limit) || limit < 1 || limit > MAX_LISTED) {
    return badParams(`a limit is 1 to ${MAX_LISTED}`);
  }
  const place = placeOf(after);
  if (place === "invalid") return badParams("a page begins after an entry");
  const entries = await catalog.list(owner, { namespace, limit, after: place });
  return { result: entries.map(entryJson) };
}

function placeOf(
  after: unknown,
):
  | { readonly createdAtMs: number; readonly memoryId: string }
  | undefined
  | "invalid" {
  if (after === undefined || after === null) return undefined;
  const { createdAtMs, memoryId } = optionsOf(after);
  return isCount(createdAtMs) && isText(memoryId)
    ? { createdAtMs, memoryId }
    : "invalid";
}

/** Converts an entry, or the part of one that a move changes, to JSON. */
export function entryJson(
  entry: MovedBlob | CatalogEntry,
): Readonly<Record<string, unknown>> {
  const sealedIndex = entry.sealedIndex?.toBase64();
  const memorySecret = entry.memorySecret?.toBase64();
  return { ...entry, sealedIndex, memorySecret };
}

/** Reads an entry from JSON; undefined when the JSON is not a valid entry. */
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

/** Reads a moved blob from JSON; undefined when the JSON is not a valid one. */
function movedBlobOf(json: unknown): MovedBlob | undefined {
  if (!isJsonObject(json)) return undefined;
  const { blobId, sizeBytes } = json;
  const memorySecret = bytesOf(json["memorySecret"]);
  const sealedIndex = bytesOf(json["sealedIndex"]);
  return isText(blobId) && isCount(sizeBytes) &&
      memorySecret !== "invalid" && sealedIndex !== "invalid"
    ? { blobId, sizeBytes, memorySecret, sealedIndex }
    : undefined;
}

/** Whether a value is a text that is short enough for an entry. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT_CHARS;
}

/** Whether a value is a whole number from 0. */
function isCount(value: unknown): value is number {
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
  return base64Of(value, { maxBytes: MAX_SEALED_BYTES }) ?? "invalid";
}
