/**
 * JSON-RPC methods of the catalogue of blobs, for relayers that send the
 * credential: with them a relayer that has lost everything can restore. The
 * methods are our own, beside those of a full node.
 *
 * @module
 */

import {
  CATALOG_ENTRY,
  CatalogMethod,
  COUNT,
  entryJson,
  MAX_LISTED,
  MOVED_BLOB,
  PAGE_PLACE,
  TEXT,
} from "../relayer/ledger/catalog_entry.ts";
import type { RpcLedger } from "../relayer/ledger/embedded_rpc.ts";
import type { Schema } from "../shared/schema/schema.ts";
import { badParams, OPTIONS, type RpcMethod } from "./rpc_method.ts";

/** The methods over a catalogue, by name. */
export function catalogMethods(
  catalog: NonNullable<RpcLedger["catalog"]>,
): Readonly<Record<string, RpcMethod>> {
  return {
    async [CatalogMethod.add]([json]) {
      const entry = valid(CATALOG_ENTRY, json, "it is no entry");
      const { supersededBy: _known, ...added } = entry;
      await catalog.add(added);
      return true;
    },
    async [CatalogMethod.move]([owner, memoryId, json]) {
      const place = [id(owner), id(memoryId)] as const;
      await catalog.move(...place, valid(MOVED_BLOB, json, "it is no blob"));
      return true;
    },
    async [CatalogMethod.remove]([owner, memoryId]) {
      await catalog.remove(id(owner), id(memoryId));
      return true;
    },
    async [CatalogMethod.findEntry]([owner, memoryId]) {
      const entry = await catalog.findEntry(id(owner), id(memoryId));
      return entry === undefined ? null : entryJson(entry);
    },
    [CatalogMethod.countHolders]: ([blobId]) =>
      catalog.countHolders(id(blobId)),
    async [CatalogMethod.list]([address, options]) {
      const { namespace: name, limit: asked, after: place } = OPTIONS(options);
      const [owner, namespace] = [id(address), id(name)];
      const limit = COUNT.read(asked, "", []) ?? 0;
      if (limit < 1 || limit > MAX_LISTED) {
        badParams(`a limit is 1 to ${MAX_LISTED}`);
      }
      const after = place === undefined || place === null
        ? undefined
        : valid(PAGE_PLACE, place, "a page begins after an entry");
      const entries = await catalog.list(owner, { namespace, limit, after });
      return entries.map(entryJson);
    },
  };
}

function id(value: unknown): string {
  return valid(TEXT, value, "ids are texts");
}

function valid<T>(schema: Schema<T>, value: unknown, state: string): T {
  return schema.read(value, "", []) ?? badParams(state);
}
