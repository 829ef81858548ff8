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
import type { Caller } from "../../auth/authenticate.ts";
import { blobIdOf, type CatalogEntry } from "../../blobs/blob_store.ts";
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
        const { vector, limit, namespace } = body;
        const outcome = await parts.recall.find({
          owner: caller.owner,
          query: vector,
          ordering: orderingOf(body),
          deadlineMs: MAX_RECALL_MS,
          ...{ limit, namespace, signal, pausing },
        });
        if (outcome.kind !== "ok") return recallRefusal(outcome);
        return ok({
          results: outcome.memories.map(manualHitView),
          total: outcome.memories.length,
        });
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
