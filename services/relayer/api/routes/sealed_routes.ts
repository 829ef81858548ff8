/**
 * Routes for clients that decrypt memories themselves: get the encrypted bytes
 * of a memory, and set the vector of a memory again that only the client can
 * open, when the relayer has lost it.
 *
 * @module
 */

import { described } from "../../../shared/schema/schema.ts";
import type { Caller } from "../../auth/authenticate.ts";
import type { BlobStore, CatalogEntry } from "../../blobs/blob_store.ts";
import { addStored } from "../../recall/vector_index.ts";
import type { NewMemory } from "../../store/rows.ts";
import type { Change } from "../../store/changes.ts";
import { CLIENT_MODEL, type Metadata } from "../../vault/vault.ts";
import { type Answer, ok, refused, unavailable } from "../answer.ts";
import { isRecordId, members, unitVector } from "../body_schemas.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import { signedPost } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { isGranted } from "../../auth/token_claims.ts";
import type { SignedRoute } from "../route.ts";
import { READS, WRITES } from "../token_rule.ts";

const NO_METADATA: Metadata = {};

/** The routes of sealed memories. */
export function sealedRoutes(parts: RelayerParts): readonly SignedRoute[] {
  return [
    {
      access: "signed",
      method: "GET",
      path: "/api/memories/:id/blob",
      words: {
        id: "getBlob",
        tag: "sealed data",
        summary: "Give a memory's bytes as they are kept",
        answer: memoryAnswer("Blob"),
        means: "The bytes",
        others: { 404: "There is no such memory, or its blob is gone" },
      },
      token: READS,
      answer: ({ caller, params, signal }) =>
        blobAnswer(params["id"] ?? "", { parts, caller, signal }),
    },
    signedPost(
      "/api/memories/:id/vector",
      members({
        vector: described(
          unitVector(parts.embedder.width),
          "What the memory is found by from now on",
        ),
      }),
      {
        action: "take vector",
        words: {
          id: "putVector",
          tag: "sealed data",
          summary: "Replace the vector of a client-encrypted memory",
          description: "For `needs_vectors` of a restore.",
          sent: { vector: [1] },
          answer: memoryAnswer("Reindexed"),
          means: "Recall finds it again",
          others: { 404: "There is no such memory, or its blob is gone" },
        },
        token: WRITES,
        namespacesOf: () => [],
        points: 3,
        answer: ({ caller, params, signal }, { vector }) =>
          vectorAnswer(params["id"] ?? "", { parts, caller, vector, signal }),
      },
    ),
  ];
}

interface Asked {
  readonly parts: RelayerParts;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Answers with a memory's bytes as they are stored, also when only the
 * catalogue still knows the memory.
 */
async function blobAnswer(
  id: string,
  { parts: { blobs, catalog, store }, caller, signal }: Asked,
): Promise<Answer> {
  if (!isRecordId(id)) return NO_MEMORY;
  const { owner, grant } = caller;
  const [memory] = await store.memories(owner, [id]);
  const found = memory ?? await catalog.findEntry(owner, id);
  if (found === undefined || !isGranted(grant, found.namespace)) {
    return NO_MEMORY;
  }
  const { blobId } = found;
  const read = await readBlob(blobId, { blobs, signal });
  if (read.kind === "refused") return read.answer;
  const data = read.bytes.toBase64();
  return {
    ...ok({ memory_id: id, blob_id: blobId, data }),
    readBytes: read.bytes.length,
  };
}

/**
 * Sets the vector of a memory that only its client can open, and adds it to the
 * index, so that recall finds the memory again.
 */
async function vectorAnswer(
  id: string,
  { parts, caller, vector, signal }: Asked & { readonly vector: Float32Array },
): Promise<Answer> {
  const { blobLocks, catalog } = parts;
  const { owner, grant } = caller;
  const entry = isRecordId(id) ? await catalog.findEntry(owner, id) : undefined;
  if (entry?.sealedIndex === undefined || !isGranted(grant, entry.namespace)) {
    return NO_MEMORY;
  }
  const read = await readBlob(entry.blobId, { ...parts, signal });
  if (read.kind === "refused") return read.answer;
  // Locked, so that a deletion comes before or after, not in between.
  return await blobLocks.run(entry.blobId, async () => {
    const current = await catalog.findEntry(owner, id);
    if (current?.blobId !== entry.blobId) return NO_MEMORY;
    await reindex(current, { parts, vector, sizeBytes: read.bytes.length });
    return {
      ...ok({ memory_id: id, blob_id: entry.blobId }),
      readBytes: read.bytes.length,
    };
  });
}

async function reindex(
  entry: CatalogEntry,
  { parts, vector, sizeBytes }: {
    readonly parts: RelayerParts;
    readonly vector: Float32Array;
    readonly sizeBytes: number;
  },
): Promise<void> {
  const { catalog, store, vault, usage, ledger } = parts;
  const { owner, memoryId: id, blobId, namespace, createdAtMs } = entry;
  const { agentId, importance = null, supersedes, supersededBy } = entry;
  const model = CLIENT_MODEL;
  const metadata = NO_METADATA;
  const sealedIndex = await vault.sealIndex(owner, { vector, model, metadata });
  const { memorySecret } = entry;
  await catalog.move(owner, id, {
    ...{ blobId, sizeBytes, memorySecret, sealedIndex },
  });
  const [row] = await store.memories(owner, [id]);
  const memory: NewMemory = {
    ...{ id, owner, namespace, blobId, sizeBytes, createdAtMs, agentId },
    ...{ importance, sealedIndex, supersedes },
    packageId: ledger.packageId,
  };
  const changes: Change[] = [
    row === undefined
      ? { kind: "new_memory", memory }
      : { kind: "reindex", owner, id, sealedIndex },
  ];
  if (supersededBy !== undefined) {
    changes.push({ kind: "supersede", owner, id, supersededBy });
  }
  await store.commit(changes);
  if (row === undefined) usage.changed(owner);
  // Between the read and the commit, the memory may have been deleted or its
  // namespace forgotten: then the index must not have it.
  const [stored] = await store.memories(owner, [id]);
  if (stored === undefined || stored.supersededBy !== undefined) return;
  addStored({ ...stored, sealedIndex, metadata, vector }, parts);
}

type BlobRead =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  | { readonly kind: "refused"; readonly answer: Answer };

async function readBlob(
  blobId: string,
  { blobs, signal }: {
    readonly blobs: BlobStore;
    readonly signal: AbortSignal;
  },
): Promise<BlobRead> {
  const blob = await blobs.get(blobId, { signal });
  switch (blob.kind) {
    case "ok":
      return blob;
    case "missing":
      return { kind: "refused", answer: GONE };
    case "unavailable": {
      const { reason } = blob;
      const answer = unavailable(
        "Cannot return the blob: the blob store does not answer",
        { reason },
      );
      return { kind: "refused", answer };
    }
  }
}

const NO_MEMORY: Answer = refused(
  404,
  "Cannot return the blob: the memory does not exist",
);

const GONE: Answer = refused(404, "Cannot return the blob: it is gone");
