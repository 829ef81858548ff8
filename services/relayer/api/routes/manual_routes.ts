/**
 * Routes for memories that clients encrypt and embed themselves: store such a
 * memory, and recall by a vector.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  BASE64_BYTES,
  BLOB_ID,
  cappedCount,
  members,
  NAMESPACE,
  ORDERING_FIELDS,
  toOrdering,
  unitVector,
} from "../body_schemas.ts";
import { refined } from "../../../shared/schema/composite.ts";
import { cannotTake } from "../../../shared/schema/fault.ts";
import { optional, withDefault } from "../../../shared/schema/object.ts";
import { described } from "../../../shared/schema/schema.ts";
import { boolean, choice } from "../../../shared/schema/values.ts";
import type { Caller } from "../../auth/authenticate.ts";
import {
  type BlobStore,
  type CatalogEntry,
  computeBlobId,
} from "../../blobs/blob_store.ts";
import type { NewMemory } from "../../store/rows.ts";
import { CLIENT_MODEL, type Metadata } from "../../vault/vault.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import { signedPost } from "../json_body.ts";
import {
  type Answer,
  type JsonView,
  ok,
  refused,
  unavailable,
  wireTime,
} from "../answer.ts";
import type { RecalledMemory } from "../../recall/recall_request.ts";
import { addStored } from "../../recall/vector_index.ts";
import { hashBytes } from "../../receipts/receipt.ts";
import type { RelayerParts } from "../parts.ts";
import type { SignedRoute } from "../route.ts";
import { OPENS, WRITES } from "../token_rule.ts";
import {
  DEFAULT_RECALL_LIMIT,
  LOCKED_WORDS,
  MAX_RECALL_LIMIT,
  MAX_RECALL_MS,
  recallRefusal,
} from "./recall_routes.ts";
import { OVER_QUOTA_WORDS, overQuota } from "./remember_routes.ts";

/** A memory as its client has sealed it. */
interface ManualContent {
  /** The sealed bytes, which only the client can open. */
  readonly bytes: Uint8Array;
  /**
   * The id of a blob that the client stored itself; undefined when the relayer
   * has to store the bytes.
   */
  readonly claimedId?: string | undefined;
  /** The vector that recall finds the memory by; its length is 1. */
  readonly vector: Float32Array;
  /** The namespace. */
  readonly namespace: string;
}

/** The outcome of storing. */
type ManualOutcome =
  | {
    readonly kind: "stored";
    readonly id: string;
    readonly blobId: string;
    /** When the memory was accepted, in milliseconds since the epoch. */
    readonly createdAtMs: number;
  }
  | { readonly kind: "over_quota" }
  /** Another memory, of this owner or of another one, has the blob. */
  | { readonly kind: "taken" };

const NO_METADATA: Metadata = {};
/** Most bytes of memories in one answer. */
const MAX_DATA_BYTES = 1_048_576;
/** Blobs that are read at a time. */
const READS = 10;

/**
 * Stores a memory; recall finds it when this answers, unless the index is full.
 * The vector cannot be made again, so the catalogue keeps it too, sealed like
 * the one of the index.
 */
async function storeManual(
  caller: Caller,
  { parts, content }: {
    readonly parts: RelayerParts;
    readonly content: ManualContent;
  },
): Promise<ManualOutcome> {
  const { owner } = caller;
  const { blobs, usage, quotaBytes } = parts;
  const { bytes, claimedId } = content;
  const added = { bytes: bytes.length, openJobs: 0 };
  const reserved = await usage.reserve(owner, added, { quotaBytes });
  if (reserved.kind !== "ok") return { kind: "over_quota" };
  const { reservation } = reserved;
  let isWritten = true;
  try {
    // The lock lasts from storing the bytes until the catalogue has their
    // entry: in between, deleting another memory with the same bytes would
    // remove them. A remote store, which may take long, never removes any.
    const storedId = claimedId ??
      (blobs.hasHashIds ? undefined : await blobs.put(bytes));
    return await parts.blobLocks.run(
      storedId ?? computeBlobId(bytes),
      async (held) => {
        const claim = await findClaimed(owner, { parts, content });
        if (claim !== undefined) {
          isWritten = false;
          return claim;
        }
        const blobId = storedId ?? await blobs.put(bytes, { signal: held });
        return await storeContent(caller, { parts, content, blobId, held });
      },
    );
  } finally {
    if (isWritten) reservation.settle();
    else reservation.release();
  }
}

/**
 * Returns the outcome for a claimed blob when nothing has to be stored: the
 * same claim was made before, or another memory has the blob. The blob store
 * does not say whose a blob is, so it belongs to the first account that claims
 * it.
 */
async function findClaimed(
  owner: string,
  { parts: { catalog, store }, content }: {
    readonly parts: RelayerParts;
    readonly content: ManualContent;
  },
): Promise<ManualOutcome | undefined> {
  const { claimedId: blobId, namespace } = content;
  if (blobId === undefined) return undefined;
  const id = computeClaimId({ owner, namespace, blobId });
  const [known] = await store.memories(owner, [id]);
  if (known !== undefined) {
    return { kind: "stored", id, blobId, createdAtMs: known.createdAtMs };
  }
  return await catalog.countHolders(blobId) > 0 ? { kind: "taken" } : undefined;
}

/**
 * Returns the memory's id for a claimed blob: the same claim gives the same
 * memory, however often it is sent.
 */
function computeClaimId(
  claim: {
    readonly owner: string;
    readonly namespace: string;
    readonly blobId: string;
  },
): string {
  const { owner, namespace, blobId } = claim;
  return createHash("sha256")
    .update(JSON.stringify(["claim", owner, namespace, blobId]))
    .digest("hex");
}

async function storeContent(
  caller: Caller,
  { parts, content, blobId, held }: {
    readonly parts: RelayerParts;
    readonly content: ManualContent;
    readonly blobId: string;
    /** Is aborted when another one may remove the blob. */
    readonly held: AbortSignal;
  },
): Promise<ManualOutcome> {
  const { catalog, clock, store, vault } = parts;
  const { bytes, vector, namespace } = content;
  const { owner, publicKey } = caller;
  const sealedIndex = await vault.sealIndex(owner, {
    vector,
    model: CLIENT_MODEL,
    metadata: NO_METADATA,
  });
  const memory: NewMemory = {
    id: content.claimedId === undefined
      ? parts.newId()
      : computeClaimId({ owner, namespace, blobId }),
    owner,
    namespace,
    blobId,
    sizeBytes: bytes.length,
    createdAtMs: clock.nowMs(),
    agentId: publicKey,
    packageId: parts.ledger.packageId,
    // Importance is inside the sealed bytes, which only the client can read.
    importance: null,
    sealedIndex,
  };
  held.throwIfAborted();
  await store.commit([{ kind: "new_memory", memory }]);
  const { id, createdAtMs, sizeBytes } = memory;
  await note({
    memoryId: id,
    agentId: publicKey,
    ...{ blobId, owner, namespace, createdAtMs, sizeBytes, sealedIndex },
  }, parts);
  const [row] = await store.memories(owner, [id]);
  if (row === undefined) {
    // While the entry was added, the memory was deleted or its namespace
    // forgotten.
    await catalog.remove(owner, id);
    return { kind: "stored", id, blobId, createdAtMs };
  }
  addStored({ ...memory, metadata: NO_METADATA, vector }, parts);
  return { kind: "stored", id, blobId, createdAtMs };
}

/**
 * Adds a memory to the catalogue. When that fails the memory is removed again,
 * since it could not be restored.
 */
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
 * Reads the bytes of memories as Base64, up to the limit of an answer;
 * undefined for memories that do not fit or cannot be read now, which clients
 * get one by one.
 */
async function readData(
  memories: readonly RecalledMemory[],
  { blobs, signal }: {
    readonly blobs: BlobStore;
    readonly signal: AbortSignal;
  },
): Promise<{
  readonly data: readonly (string | undefined)[];
  /** Bytes of blobs that were read but did not fit into the answer. */
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
    // The answer is half full: blobs read from here on would probably not fit.
    if (leftBytes < MAX_DATA_BYTES / 2) break;
  }
  return { data, unsentBytes };
}

/** The bytes that a client sealed, or the answer when they cannot be read. */
type SealedData =
  | {
    readonly kind: "ok";
    readonly bytes: Uint8Array;
    readonly claimedId: string | undefined;
  }
  | { readonly kind: "refused"; readonly answer: Answer };

/**
 * Returns the sealed bytes of a request. It contains the bytes, or, from
 * released clients before 0.0.8, the id of a blob that the client put into the
 * blob store itself.
 */
async function readSealed(
  { encrypted_data: bytes, blob_id: blobId }: {
    readonly encrypted_data?: Uint8Array | undefined;
    readonly blob_id?: string | undefined;
  },
  { parts: { blobs }, signal }: {
    readonly parts: RelayerParts;
    readonly signal: AbortSignal;
  },
): Promise<SealedData> {
  if (bytes !== undefined && blobId === undefined) {
    return { kind: "ok", bytes, claimedId: undefined };
  }
  const no = (answer: Answer): SealedData => ({ kind: "refused", answer });
  if (blobId === undefined || bytes !== undefined) {
    return no(refused(
      400,
      "Cannot remember data: it needs one of encrypted_data and blob_id",
    ));
  }
  const blob = await blobs.get(blobId, { signal });
  switch (blob.kind) {
    case "ok":
      return { kind: "ok", bytes: blob.bytes, claimedId: blobId };
    case "missing":
      return no(refused(
        400,
        "Cannot remember data: this relayer's blob store does not have the " +
          "blob",
      ));
    case "unavailable":
      return no(unavailable(
        "Cannot remember data: the blob store does not answer",
        { reason: blob.reason },
      ));
  }
}

/**
 * The ranking of a recall by vector: without a question and texts, words cannot
 * rank.
 */
const WORDLESS_RANKING = refined(
  choice(["semantic", "fused"]),
  (ranking) =>
    ranking === "semantic" ? [] : [{
      reason: cannotTake(
        'a vector has no words that could rank; leave "ranking" out, or recall by a ' +
          "text",
      ),
    }],
);

/** The routes of sealed memories. */
export function manualRoutes(parts: RelayerParts): readonly SignedRoute[] {
  const vector = unitVector(parts.embedder.width);
  const newMemory = members({
    encrypted_data: optional(
      described(BASE64_BYTES, "What only the client can open, Base64"),
    ),
    blob_id: optional(
      described(BLOB_ID, "The blob that the client has put into the store"),
    ),
    vector: described(vector, "What it is found by"),
    namespace: NAMESPACE,
  });
  const query = members({
    vector: described(vector, "What memories are compared with"),
    limit: withDefault(
      cappedCount(MAX_RECALL_LIMIT),
      DEFAULT_RECALL_LIMIT,
      `Most memories; ${MAX_RECALL_LIMIT} for any number above`,
    ),
    namespace: NAMESPACE,
    scoring_weights: ORDERING_FIELDS.scoring_weights,
    include_data: withDefault(
      described(
        boolean(),
        "Whether to give the bytes, as far as there is room",
      ),
      false,
    ),
    ranking: optional(
      WORDLESS_RANKING,
      "`semantic` or nothing: there are no words to rank by",
    ),
  });
  return [
    signedPost("/api/remember/manual", newMemory, {
      action: "remember data",
      words: {
        id: "rememberData",
        tag: "sealed data",
        summary: "Remember bytes that only the client can open",
        description: "Takes one of `encrypted_data` and `blob_id`.",
        sent: { encrypted_data: "AAECAw==", vector: [1] },
        answer: memoryAnswer("StoredData"),
        means: "It is stored, and recall finds it unless the index is full",
        others: { ...OVER_QUOTA_WORDS, 409: "Another memory has this blob" },
      },
      token: WRITES,
      namespacesOf: ({ namespace }) => [namespace],
      points: 3,
      async answer({ caller, pausing, signal }, body) {
        await pausing.pause();
        const { vector, namespace } = body;
        const sealed = await readSealed(body, { parts, signal });
        if (sealed.kind === "refused") return sealed.answer;
        const { bytes, claimedId } = sealed;
        const stored = await storeManual(caller, {
          parts,
          content: { bytes, claimedId, vector, namespace },
        });
        switch (stored.kind) {
          case "over_quota":
            return overQuota(parts.quotaBytes);
          case "taken":
            return refused(
              409,
              "Cannot remember data: another memory has this blob",
            );
          case "stored": {
            const { id, blobId, createdAtMs: timeMs } = stored;
            const { owner } = caller;
            const receipt = parts.receipts.sign({
              ...{ kind: "remember", owner, namespace, memoryId: id, blobId },
              ...{ contentHash: hashBytes(bytes), timeMs },
            });
            return {
              ...ok({ id, blob_id: blobId, owner, namespace, receipt }),
              readBytes: claimedId === undefined ? 0 : bytes.length,
            };
          }
        }
      },
    }),
    signedPost("/api/recall/manual", query, {
      action: "recall",
      words: {
        id: "recallData",
        tag: "sealed data",
        summary: "Find client-encrypted memories by a vector",
        sent: { vector: [1], limit: 5 },
        answer: memoryAnswer("FoundData"),
        means: "The memories, best first",
        others: { ...LOCKED_WORDS, 504: "It took too long" },
      },
      token: OPENS,
      namespacesOf: ({ namespace }) => [namespace],
      onlyReads: true,
      async answer({ caller, signal, pausing }, body) {
        const { vector, limit, namespace, include_data: isWithData } = body;
        const outcome = await parts.recall.find({
          owner: caller.owner,
          query: vector,
          ordering: toOrdering(body),
          deadlineMs: MAX_RECALL_MS,
          ...{ limit, namespace, signal, pausing },
        });
        if (outcome.kind !== "ok") return recallRefusal(outcome);
        const { memories } = outcome;
        const total = memories.length;
        const hits = memories.map(manualHitView);
        if (!isWithData) return ok({ results: hits, total });
        const { data, unsentBytes } = await readData(memories, {
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
  ];
}

/** A sealed memory, as clients see it. */
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
