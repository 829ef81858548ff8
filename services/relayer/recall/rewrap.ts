/**
 * Re-wraps memories: those that the local vault has sealed are put behind the
 * key servers. Finished work is kept: the next run goes on where the last
 * one ended, however that was.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { BlobCatalog, BlobStore } from "../blobs/blob_store.ts";
import { pooled } from "../concurrency/bounded_work.ts";
import type { MemoryRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { DataKeys } from "../vault/data_keys.ts";
import { readOwnerKeyBlob } from "../vault/owner_key_blob.ts";
import type { RelayerVault } from "../vault/vault.ts";

/** What re-wrapping needs of the relayer. */
export interface RewrapParts {
  /** Keeps rows. */
  readonly store: Pick<
    RelayerStore,
    "scanMemories" | "memories" | "commit"
  >;
  /** Keeps blobs. */
  readonly blobs: Pick<BlobStore, "get" | "put" | "remove">;
  /** Knows which blobs there are. */
  readonly catalog: Pick<BlobCatalog, "move" | "countHolders">;
  /** The vault behind key servers. */
  readonly vault: Pick<
    RelayerVault,
    "protect" | "memorySecret" | "openIndex" | "sealIndex"
  >;
  /** The keys of the local vault, which has sealed the memories. */
  readonly dataKeys: Pick<DataKeys, "retire">;
  /** Hears of memories that cannot be moved. */
  readonly logger: Logger;
}

/** How far re-wrapping is. */
export interface RewrapCounts {
  /** Memories that were looked at. */
  readonly memories: number;
  /** Memories that were put behind the key servers. */
  readonly rewrapped: number;
  /**
   * Memories that were behind the key servers before, or that only clients can
   * open.
   */
  readonly kept: number;
  /** Memories that could not be moved. */
  readonly failed: number;
}

/** Options of {@linkcode rewrapMemories}. */
interface RewrapOptions {
  /** Hears how far it is after each page. */
  readonly onProgress: (counts: RewrapCounts) => void;
  /** Ends it after the page that is under way. */
  readonly signal: AbortSignal;
}

type Outcome = "rewrapped" | "kept" | "failed";

const PAGE = 200;
const PARALLEL = 8;

/** Re-wraps all memories, page by page. */
export async function rewrapMemories(
  parts: RewrapParts,
  { onProgress, signal }: RewrapOptions,
): Promise<RewrapCounts> {
  const counts = { memories: 0, rewrapped: 0, kept: 0, failed: 0 };
  let afterId: string | undefined;
  for (;;) {
    if (signal.aborted) return counts;
    const rows = await parts.store.scanMemories({ limit: PAGE, afterId });
    const outcomes = await pooled(rows, {
      parallel: PARALLEL,
      // A page is finished even when the run is ended.
      signal: new AbortController().signal,
      work: (row) => rewrap(row, parts),
    });
    for (const outcome of outcomes) counts[outcome]++;
    counts.memories += rows.length;
    onProgress({ ...counts });
    afterId = rows.at(-1)?.id;
    if (rows.length < PAGE || afterId === undefined) return counts;
  }
}

async function rewrap(row: MemoryRow, parts: RewrapParts): Promise<Outcome> {
  const { owner, id, keyId, blobId } = row;
  if (keyId === undefined) return "kept";
  try {
    const blob = await parts.blobs.get(blobId);
    if (blob.kind !== "ok") return fail(parts, row, `its blob is ${blob.kind}`);
    if (readOwnerKeyBlob(blob.bytes) !== undefined) {
      // The last run may have ended before it retired the local key.
      await parts.dataKeys.retire(owner, keyId);
      return "kept";
    }
    const bytes = await parts.vault.protect(owner, blob.bytes);
    if (bytes === blob.bytes) return fail(parts, row, "it does not open");
    await move(row, { ...parts, keyId, bytes });
    return "rewrapped";
  } catch (error) {
    return fail(parts, { id }, describeError(error));
  }
}

/**
 * Moves a memory. The order of the steps matters: at any moment the blobs that
 * store and catalogue name can be opened.
 */
async function move(
  { owner, id, blobId: fromBlobId, sealedIndex }: MemoryRow,
  parts: RewrapParts & { readonly keyId: string; readonly bytes: Uint8Array },
): Promise<void> {
  const { store, blobs, catalog, vault, dataKeys, keyId, bytes } = parts;
  const blobId = await blobs.put(bytes);
  const sizeBytes = bytes.length;
  const memorySecret = await vault.memorySecret(owner, keyId);
  await catalog.move(owner, id, { blobId, sizeBytes, memorySecret });
  const entry = await vault.openIndex(owner, sealedIndex);
  await store.commit([
    { kind: "move_blob", owner, id, fromBlobId, blobId, sizeBytes },
    ...(entry.kind === "failed" ? [] : [{
      ...{ kind: "reindex", owner, id } as const,
      // Without the words that the local keys opened.
      sealedIndex: await vault.sealIndex(owner, entry.value),
    }]),
  ]);
  const [now] = await store.memories(owner, [id]);
  if (now?.blobId !== blobId) {
    // Another run has moved it, or it was deleted meanwhile.
    if (now !== undefined) {
      const { blobId, sizeBytes } = now;
      await catalog.move(owner, id, { blobId, sizeBytes, memorySecret });
    }
    await blobs.remove(blobId);
    return;
  }
  await dataKeys.retire(owner, keyId);
  if (await catalog.countHolders(fromBlobId) === 0) {
    await blobs.remove(fromBlobId);
  }
}

function fail(
  { logger }: RewrapParts,
  { id }: Pick<MemoryRow, "id">,
  reason: string,
): Outcome {
  logger.warn("Cannot move a memory behind the key servers", {
    memory: id,
    reason,
  });
  return "failed";
}
