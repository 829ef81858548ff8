/**
 * Entries of the catalogue of blobs as JSON: a ledger that runs as a process of
 * its own and its relayers convert them with the schemas here.
 *
 * @module
 */

import { refuse } from "../../shared/schema/fault.ts";
import { object, optional } from "../../shared/schema/object.ts";
import { createSchema, type Schema } from "../../shared/schema/schema.ts";
import { integer, number } from "../../shared/schema/values.ts";
import type { CatalogEntry, MovedBlob } from "../blobs/blob_store.ts";

/** The names of the methods. */
export const CatalogMethod = {
  add: "tercet_catalogAdd",
  move: "tercet_catalogMove",
  remove: "tercet_catalogRemove",
  findEntry: "tercet_catalogEntry",
  countHolders: "tercet_catalogHolders",
  list: "tercet_catalogList",
} as const;

/** Most entries of an answer; longer lists take several calls. */
export const MAX_LISTED = 100;

/** Longest text of an entry: ids, addresses and namespaces are far shorter. */
const MAX_TEXT_CHARS = 1_024;
/** Most characters of a sealed index: a megabyte of Base64. */
const MAX_SEALED_CHARS = 1_048_576;

/** A text that is short enough for an entry. */
export const TEXT: Schema<string> = createSchema(
  { type: "string", maxLength: MAX_TEXT_CHARS },
  (value, at, faults) =>
    typeof value === "string" && value.length <= MAX_TEXT_CHARS
      ? value
      : refuse({ at, faults }, "wrong_type", "it is not short text"),
);

/** A whole number from 0. */
export const COUNT: Schema<number> = integer({ minimum: 0 });

const BYTES: Schema<Uint8Array> = createSchema(
  { type: "string", maxLength: MAX_SEALED_CHARS },
  (value, at, faults) => {
    try {
      if (typeof value === "string" && value.length <= MAX_SEALED_CHARS) {
        return Uint8Array.fromBase64(value);
      }
    } catch {
      // Not Base64.
    }
    return refuse({ at, faults }, "wrong_type", "it is no Base64");
  },
);

const BLOB_FIELDS = {
  blobId: TEXT,
  sizeBytes: COUNT,
  sealedIndex: optional(BYTES),
  memorySecret: optional(BYTES),
};

/** The part of an entry that a move changes. */
export const MOVED_BLOB: Schema<MovedBlob> = object(BLOB_FIELDS, {
  isOpen: true,
});

/** The place after which a page begins. */
export const PAGE_PLACE: Schema<
  Pick<CatalogEntry, "createdAtMs" | "memoryId">
> = object({ createdAtMs: COUNT, memoryId: TEXT }, { isOpen: true });

/** An entry. */
export const CATALOG_ENTRY: Schema<CatalogEntry> = object({
  ...BLOB_FIELDS,
  owner: TEXT,
  namespace: TEXT,
  memoryId: TEXT,
  agentId: TEXT,
  createdAtMs: COUNT,
  importance: optional(number({ minimum: 0, maximum: 1 })),
  supersedes: optional(TEXT),
  supersededBy: optional(TEXT),
}, { isOpen: true });

/** Converts an entry, or the part of one that a move changes, to JSON. */
export function entryJson(
  entry: MovedBlob | CatalogEntry,
): Readonly<Record<string, unknown>> {
  const sealedIndex = entry.sealedIndex?.toBase64();
  const memorySecret = entry.memorySecret?.toBase64();
  return { ...entry, sealedIndex, memorySecret };
}
