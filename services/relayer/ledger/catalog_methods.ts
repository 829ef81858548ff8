/**
 * The catalogue of blobs over the ledger's JSON-RPC, for relayers that know the
 * credential: so a relayer that has lost everything can restore.
 *
 * @module
 */

import type { BlobCatalog } from "../blobs/blob_store.ts";
import {
  catalogEntryJson,
  catalogEntryOf,
  CatalogMethod,
  isCount,
  isText,
  MAX_LISTED,
  movedBlobOf,
} from "./catalog_wire.ts";
import {
  badParams,
  optionsOf,
  type RpcMethod,
  type RpcOutcome,
} from "./rpc_call.ts";

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
      return { result: entry === undefined ? null : catalogEntryJson(entry) };
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
  return { result: entries.map(catalogEntryJson) };
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
