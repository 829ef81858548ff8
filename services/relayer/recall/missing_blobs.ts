/**
 * Which blobs of a namespace the index lacks.
 *
 * @module
 */

import type { BlobCatalog, CatalogEntry } from "../blobs/blob_catalog.ts";
import type { RelayerStore } from "../store/store.ts";

/** Options of {@linkcode missingBlobs}. */
export interface MissingBlobsOptions {
  /** Knows what is indexed, and what is beyond restoring. */
  readonly store: Pick<
    RelayerStore,
    "indexedBlobs" | "badBlobs" | "memories"
  >;
  /** Knows which blobs there are. */
  readonly catalog: Pick<BlobCatalog, "list">;
  /** The namespace. */
  readonly namespace: string;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/** The blobs of a namespace. */
export interface MissingBlobs {
  /** Those that the index lacks, the newest first. */
  readonly missing: readonly CatalogEntry[];
  /** How many it has. */
  readonly indexed: number;
  /** How many are known to be beyond restoring. */
  readonly bad: number;
  /** How many there are. */
  readonly total: number;
}

const PAGE = 200;

/**
 * Goes through the catalogue.
 *
 * @throws the signal's reason when it ends early
 */
export async function missingBlobs(
  owner: string,
  options: MissingBlobsOptions,
): Promise<MissingBlobs> {
  const { catalog, namespace, signal } = options;
  const missing: CatalogEntry[] = [];
  let indexed = 0;
  let bad = 0;
  let total = 0;
  let last: CatalogEntry | undefined;
  for (;;) {
    signal.throwIfAborted();
    const page = await catalog.list(owner, {
      namespace,
      limit: PAGE,
      ...(last === undefined ? {} : { after: last }),
    });
    const known = await knownOf(owner, { ...options, page });
    for (const entry of page) {
      if (known.indexed.has(entry.memoryId)) indexed++;
      else if (known.bad.has(entry.blobId)) bad++;
      else missing.push(entry);
    }
    total += page.length;
    last = page.at(-1);
    if (page.length < PAGE) return { missing, indexed, bad, total };
  }
}

/** Memory ids of what is indexed, blob ids of what is beyond restoring. */
async function knownOf(
  owner: string,
  options: {
    readonly store: MissingBlobsOptions["store"];
    readonly page: readonly CatalogEntry[];
  },
): Promise<
  { readonly indexed: ReadonlySet<string>; readonly bad: ReadonlySet<string> }
> {
  const { store, page } = options;
  const blobIds = page.map(({ blobId }) => blobId);
  // A client may store the same sealed bytes twice: two memories of one blob.
  const doubled = page.filter(({ sealedIndex }) => sealedIndex !== undefined)
    .map(({ memoryId }) => memoryId);
  const [blobs, rows, bad] = await Promise.all([
    store.indexedBlobs(owner, blobIds),
    doubled.length === 0 ? [] : store.memories(owner, doubled),
    store.badBlobs(owner, blobIds),
  ]);
  const rowIds = new Set(
    rows.flatMap((row) => row === undefined ? [] : row.id),
  );
  const indexed = page.filter(({ sealedIndex, blobId, memoryId }) =>
    sealedIndex === undefined ? blobs.has(blobId) : rowIds.has(memoryId)
  );
  return { indexed: new Set(indexed.map(({ memoryId }) => memoryId)), bad };
}
