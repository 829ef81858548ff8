/**
 * Memories that clients seal and embed themselves, and the sealed bytes of memories.
 *
 * @module
 */

import {
  BASE64_BYTES,
  cappedCount,
  isRecordId,
  members,
  NAMESPACE,
  ORDERING_FIELDS,
  orderingOf,
  unitVector,
} from "../body_schemas.ts";
import { withDefault } from "../../../shared/schema/object.ts";
import { boolean } from "../../../shared/schema/values.ts";
import type { Caller } from "../../auth/authenticate.ts";
import {
  blobIdOf,
  type BlobStore,
  type CatalogEntry,
} from "../../blobs/blob_store.ts";
import type { NewMemory } from "../../store/rows.ts";
import type { Metadata } from "../../vault/vault.ts";
import { signedPost } from "../json_body.ts";
import {
  type JsonView,
  ok,
  refused,
  unavailable,
  wireTime,
} from "../answer.ts";
import type { RecalledMemory } from "../../recall/recall_request.ts";
import type { RelayerParts } from "../parts.ts";
import type { SignedRoute } from "../route.ts";
import {
  DEFAULT_RECALL_LIMIT,
  MAX_RECALL_LIMIT,
  MAX_RECALL_MS,
  recallRefusal,
} from "./recall_routes.ts";
import { overQuota } from "./remember_routes.ts";

/** What a client sealed. */
interface ManualContent {
  /** What only the client can open. */
  readonly bytes: Uint8Array;
  /** What it is found by, of length 1. */
  readonly vector: Float32Array;
  /** The namespace. */
  readonly namespace: string;
}

/** The outcome of storing. */
type ManualOutcome =
  | { readonly kind: "stored"; readonly id: string; readonly blobId: string }
  | { readonly kind: "over_quota" };

const NO_METADATA: Metadata = {};
/** Most bytes of all memories that one answer holds. */
const MAX_DATA_BYTES = 1_048_576;
/** Blobs that are read at a time. */
const READS = 10;

/**
 * Stores a memory; recall finds it when this answers. The vector cannot be made
 * again, so the catalogue keeps it too, sealed like the one of the index.
 */
async function storeManual(
  caller: Caller,
  { parts, content }: {
    readonly parts: RelayerParts;
    readonly content: ManualContent;
  },
): Promise<ManualOutcome> {
  const { owner } = caller;
  const { usage, quotaBytes } = parts;
  const { length } = content.bytes;
  const { bytes: usedBytes } = await usage.of(owner);
  if (usedBytes + length > quotaBytes) return { kind: "over_quota" };
  // In the same turn as the reading, so that concurrent requests see it.
  usage.add(owner, { bytes: length, openJobs: 0 });
  try {
    // From the bytes to the entry that says they are held: in between, a
    // removal of the same bytes of another memory would take them away.
    return await parts.blobLocks.run(
      blobIdOf(content.bytes),
      () => storeContent(caller, { parts, content }),
    );
  } catch (error) {
    usage.add(owner, { bytes: -length, openJobs: 0 });
    throw error;
  }
}

async function storeContent(
  caller: Caller,
  { parts, content }: {
    readonly parts: RelayerParts;
    readonly content: ManualContent;
  },
): Promise<ManualOutcome> {
  const { blobs, catalog, clock, index, store, vault } = parts;
  const { bytes, vector, namespace } = content;
  const { owner, publicKey } = caller;
  const sealedIndex = await vault.sealIndex(owner, {
    vector,
    model: "client",
    metadata: NO_METADATA,
  });
  const blobId = await blobs.put(bytes);
  const memory: NewMemory = {
    id: parts.newId(),
    owner,
    namespace,
    blobId,
    sizeBytes: bytes.length,
    createdAtMs: clock.nowMs(),
    agentId: publicKey,
    packageId: parts.ledger.packageId,
    // Only the client can read it.
    importance: null,
    sealedIndex,
  };
  await store.commit([{ kind: "new_memory", memory }]);
  const { id, createdAtMs, sizeBytes } = memory;
  await note({
    memoryId: id,
    agentId: publicKey,
    ...{ blobId, owner, namespace, createdAtMs, sizeBytes, sealedIndex },
  }, parts);
  const [row] = await store.memories(owner, [id]);
  if (row === undefined) {
    // Its namespace was forgotten, or it was deleted, while it was noted.
    await catalog.remove(owner, id);
    return { kind: "stored", id, blobId };
  }
  index.add({ ...memory, metadata: NO_METADATA, vector });
  return { kind: "stored", id, blobId };
}

/** What is not noted could not be restored, so then it is not kept at all. */
async function note(
  entry: CatalogEntry,
  { catalog, store }: RelayerParts,
): Promise<void> {
  const { owner, memoryId: id } = entry;
  try {
    await catalog.add(entry);
  } catch (error) {
    await store.commit([{ kind: "remove_memory", owner, id }]);
    throw error;
  }
}

/**
 * The bytes of memories in Base64, as far as an answer has room; undefined for those
 * that have no place or cannot be read now, which clients ask for one by one.
 */
async function dataOf(
  memories: readonly RecalledMemory[],
  { blobs, signal }: {
    readonly blobs: BlobStore;
    readonly signal: AbortSignal;
  },
): Promise<{
  readonly data: readonly (string | undefined)[];
  /** Bytes that were read and had no place. */
  readonly unsentBytes: number;
}> {
  const data: (string | undefined)[] = [];
  let leftBytes = MAX_DATA_BYTES;
  let unsentBytes = 0;
  for (let from = 0; from < memories.length; from += READS) {
    const reads = await Promise.all(
      memories.slice(from, from + READS).map(({ blobId }) =>
        blobs.get(blobId, { signal })
      ),
    );
    for (const read of reads) {
      if (read.kind !== "ok" || read.bytes.length > leftBytes) {
        data.push(undefined);
        if (read.kind === "ok") unsentBytes += read.bytes.length;
        continue;
      }
      leftBytes -= read.bytes.length;
      data.push(read.bytes.toBase64());
    }
    // What comes now would be read for nothing.
    if (leftBytes < MAX_DATA_BYTES / 2) break;
  }
  return { data, unsentBytes };
}

/**
 * Gives a memory's bytes as they are kept to its owner's delegates: who sealed them
 * can open them, and needs no other way to the blob store.
 */
function blobRoute({ blobs, store }: RelayerParts): SignedRoute {
  return {
    access: "signed",
    method: "GET",
    path: "/api/memories/:id/blob",
    async answer({ caller, params, signal }) {
      const id = params["id"] ?? "";
      const [memory] = isRecordId(id)
        ? await store.memories(caller.owner, [id])
        : [];
      if (memory === undefined) {
        return refused(404, "Cannot give a blob: there is no such memory");
      }
      const { blobId } = memory;
      const blob = await blobs.get(blobId, { signal });
      switch (blob.kind) {
        case "missing":
          return refused(404, "Cannot give a blob: it is gone");
        case "unavailable":
          return unavailable(
            "Cannot give a blob: the blob store does not answer",
            { reason: blob.reason },
          );
        case "ok": {
          const data = blob.bytes.toBase64();
          return {
            ...ok({ memory_id: id, blob_id: blobId, data }),
            readBytes: blob.bytes.length,
          };
        }
      }
    },
  };
}

/** The routes. */
export function manualRoutes(parts: RelayerParts): readonly SignedRoute[] {
  const vector = unitVector(parts.embedder.width);
  const newMemory = members({
    encrypted_data: BASE64_BYTES,
    vector,
    namespace: NAMESPACE,
  });
  const query = members({
    vector,
    limit: withDefault(cappedCount(MAX_RECALL_LIMIT), DEFAULT_RECALL_LIMIT),
    namespace: NAMESPACE,
    scoring_weights: ORDERING_FIELDS.scoring_weights,
    include_data: withDefault(boolean(), false),
  });
  return [
    signedPost("/api/remember/manual", newMemory, {
      action: "remember data",
      points: 3,
      async answer({ caller, pausing }, body) {
        await pausing.pause();
        const { encrypted_data: bytes, vector, namespace } = body;
        const stored = await storeManual(caller, {
          parts,
          content: { bytes, vector, namespace },
        });
        if (stored.kind === "over_quota") return overQuota(parts.quotaBytes);
        const { id, blobId } = stored;
        return ok({ id, blob_id: blobId, owner: caller.owner, namespace });
      },
    }),
    signedPost("/api/recall/manual", query, {
      action: "recall",
      async answer({ caller, signal, pausing }, body) {
        const { vector, limit, namespace, include_data: isWithData } = body;
        const outcome = await parts.recall.find({
          owner: caller.owner,
          query: vector,
          ordering: orderingOf(body),
          deadlineMs: MAX_RECALL_MS,
          ...{ limit, namespace, signal, pausing },
        });
        if (outcome.kind !== "ok") return recallRefusal(outcome);
        const { memories } = outcome;
        const total = memories.length;
        const hits = memories.map(manualHitView);
        if (!isWithData) return ok({ results: hits, total });
        const { data, unsentBytes } = await dataOf(memories, {
          blobs: parts.blobs,
          signal,
        });
        const results = hits.map((hit, at) => ({
          ...hit,
          encrypted_data: data[at],
        }));
        return { ...ok({ results, total }), readBytes: unsentBytes };
      },
    }),
    blobRoute(parts),
  ];
}

/** A memory whose text only the client can read, as clients see it. */
function manualHitView(memory: RecalledMemory): JsonView {
  const { id, blobId, distance, score, importance } = memory;
  return {
    id,
    blob_id: blobId,
    distance,
    created_at: wireTime(memory.createdAtMs),
    importance,
    score,
  };
}
