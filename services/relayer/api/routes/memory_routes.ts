/**
 * Deletes one memory for good: its key, its row, its blob and its entry in the
 * catalogue.
 *
 * The key goes first, so that nothing opens what a crash would leave behind;
 * the catalogue's entry goes last, since it leads to the blob. So a deletion
 * can be repeated after a crash at any point, until nothing is left.
 *
 * @module
 */

import { isRecordId } from "../body_schemas.ts";
import {
  BlobStoreError,
  type CatalogEntry,
  computeBlobId,
} from "../../blobs/blob_store.ts";
import { DELETED_ERROR } from "../../jobs/job_failure.ts";
import { noteDeletion } from "../../jobs/left_blobs.ts";
import { hasStored, isDeleted } from "../../jobs/stored_jobs.ts";
import type { JobRow, MemoryRow } from "../../store/rows.ts";
import type { Change } from "../../store/changes.ts";
import { keyIdOfBlob } from "../../vault/owner_key_blob.ts";
import { type Answer, ok, refused } from "../answer.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import type { RelayerParts } from "../parts.ts";
import { isGranted, type TokenGrant } from "../../auth/token_claims.ts";
import type { SignedRoute } from "../route.ts";
import { WRITES } from "../token_rule.ts";

/** Parts that deleting needs. */
type RemovalParts = Pick<
  RelayerParts,
  | "blobLocks"
  | "blobs"
  | "catalog"
  | "index"
  | "jobWatch"
  | "store"
  | "usage"
  | "vault"
>;

/** The outcome of deleting. */
type RemovalOutcome =
  | {
    readonly kind: "removed";
    /** The id of the memory's blob; undefined when it had none yet. */
    readonly blobId: string | undefined;
    /** The memory's namespace. */
    readonly namespace: string;
  }
  /** Nothing is left of the memory, or there never was one. */
  | { readonly kind: "missing" }
  /** The memory's job kept changing; a retry helps. */
  | { readonly kind: "busy" };

/** Everything that is stored about a memory. */
interface Traces {
  readonly memory: MemoryRow | undefined;
  readonly job: JobRow | undefined;
  readonly entry: CatalogEntry | undefined;
}

/**
 * How often a deletion starts over when the job changes: a job changes a few
 * times at most until it is done.
 */
const MAX_ROUNDS = 5;

/**
 * Deletes a memory of an owner, or the job that would become the memory. To a
 * token that is not for its namespace it is missing.
 */
export async function removeMemory(
  owner: string,
  id: string,
  { grant, ...parts }: RemovalParts & {
    /**
     * What the caller's token permits.
     *
     * @default everything
     */
    readonly grant?: TokenGrant | undefined;
  },
): Promise<RemovalOutcome> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const traces = await findTraces(owner, id, parts);
    const { memory, job, entry } = traces;
    const trace = memory ?? entry ?? job;
    if (trace === undefined || !isGranted(grant, trace.namespace)) {
      return { kind: "missing" };
    }
    const keyId = await findKeyId(traces, parts);
    const hadKey = keyId !== undefined &&
      await parts.vault.destroy(owner, keyId);
    const changes = changesFor(traces, parts.store.clock.nowMs());
    if (changes.length > 0) {
      const outcome = await parts.store.commit(changes);
      if (outcome.kind === "conflict") continue;
    }
    parts.index.remove(owner, id);
    // Requests that wait for the memory's job need not wait any longer.
    parts.jobWatch.tell({ owner, id });
    parts.usage.changed(owner);
    const isLost = await isBlobLost(traces, parts);
    // The lock keeps the same bytes from being stored between the look for
    // other memories that have them and their removal.
    const lockId = trace.blobId ?? id;
    const hadBlob = await parts.blobLocks.run(lockId, async (held) => {
      const hadBytes = !isLost && await removeBlob(traces, parts);
      // As long as the entry is there, the request can be repeated.
      held.throwIfAborted();
      await parts.catalog.remove(owner, id);
      await removeLastCopy(traces, parts);
      await removeReturned(owner, id, parts);
      return hadBytes;
    });
    const wasThere = memory !== undefined || entry !== undefined || hadKey ||
      hadBlob || changes.length > 0;
    if (!wasThere) return { kind: "missing" };
    const { namespace } = trace;
    const stored = memory ?? entry ??
      (job !== undefined && hasStored(job) ? job : undefined);
    const blobId = stored?.blobId;
    return { kind: "removed", blobId, namespace };
  }
  return { kind: "busy" };
}

async function findTraces(
  owner: string,
  id: string,
  { store, catalog }: RemovalParts,
): Promise<Traces> {
  const [[memory], [job], entry] = await Promise.all([
    store.memories(owner, [id]),
    store.jobs(owner, [id]),
    catalog.findEntry(owner, id),
  ]);
  return { memory, job, entry };
}

/**
 * Returns the id of the memory's key, from the row or the job; when both are
 * lost, from the blob.
 */
async function findKeyId(
  { memory, job, entry }: Traces,
  { blobs }: RemovalParts,
): Promise<string | undefined> {
  if (memory !== undefined) return memory.keyId;
  if (job !== undefined) return job.keyId;
  // A memory that only the client can open has no key here.
  if (entry === undefined || entry.sealedIndex !== undefined) return undefined;
  const blob = await blobs.get(entry.blobId);
  if (blob.kind === "missing") return undefined;
  if (blob.kind === "ok") return keyIdOfBlob(blob.bytes);
  throw new BlobStoreError(blob.reason, { isPassing: true });
}

function changesFor(
  { memory, job }: Traces,
  nowMs: number,
): readonly Change[] {
  const changes: Change[] = [];
  if (memory !== undefined) {
    const { owner, id } = memory;
    changes.push({ kind: "remove_memory", owner, id });
  }
  // The job runner notices the deletion by this change, and later requests for
  // the job get its error.
  if (job !== undefined && !isDeleted(job)) {
    const { owner, id, version } = job;
    changes.push({
      kind: "job",
      owner,
      id,
      expectedVersion: version,
      patch: {
        status: "failed",
        error: DELETED_ERROR,
        payload: null,
        ...noteDeletion(job, nowMs),
      },
    });
  }
  return changes;
}

/** Whether only the job still knows the blob, for days, and the blob is gone. */
async function isBlobLost(
  { memory, entry, job }: Traces,
  { blobs }: RemovalParts,
): Promise<boolean> {
  if (memory !== undefined || entry !== undefined) return false;
  return job?.blobId !== undefined &&
    (await blobs.get(job.blobId)).kind === "missing";
}

/**
 * Removes the memory's blob; returns whether a blob is gone now that was there.
 */
async function removeBlob(
  traces: Traces,
  { blobs, catalog }: RemovalParts,
): Promise<boolean> {
  const { memory, job, entry } = traces;
  const blobId = (memory ?? entry ?? job)?.blobId;
  if (blobId === undefined) {
    if (job?.payload === undefined) return false;
    // A crash may have come after the blob was stored and before its id was.
    // Where a blob's id is not the hash of the job's payload, with a remote
    // blob store or key servers, no blob has this id, and nothing happens.
    await blobs.remove(computeBlobId(job.payload));
    return false;
  }
  if (isClientSealed(traces)) {
    const own = entry === undefined ? 0 : 1;
    if (await catalog.countHolders(blobId) > own) return false;
  }
  return await blobs.remove(blobId);
}

/**
 * Removes bytes that a client sealed when no memory has them any longer;
 * another memory, of any owner, may have the same bytes. When two such memories
 * are deleted at once, each has left the bytes for the other one before.
 */
async function removeLastCopy(
  traces: Traces,
  { blobs, catalog }: RemovalParts,
): Promise<void> {
  const blobId = (traces.memory ?? traces.entry)?.blobId;
  if (blobId === undefined || !isClientSealed(traces)) return;
  if (await catalog.countHolders(blobId) === 0) await blobs.remove(blobId);
}

/**
 * Removes the row again when a restore, or a client that sent the vector again,
 * has put it back before the catalogue's entry was gone: without the entry
 * nothing but recall would find the row.
 */
async function removeReturned(
  owner: string,
  id: string,
  { store, index, usage }: RemovalParts,
): Promise<void> {
  const [memory] = await store.memories(owner, [id]);
  if (memory === undefined) return;
  await store.commit([{ kind: "remove_memory", owner, id }]);
  index.remove(owner, id);
  usage.changed(owner);
}

function isClientSealed({ memory, entry, job }: Traces): boolean {
  if (memory !== undefined) return memory.keyId === undefined;
  return job === undefined && entry?.sealedIndex !== undefined;
}

/**
 * The route that deletes a memory. A client may repeat the request when it got
 * no answer.
 */
export function deleteMemoryRoute(
  parts: RemovalParts & Pick<RelayerParts, "receipts" | "clock">,
): SignedRoute {
  return {
    access: "signed",
    method: "DELETE",
    path: "/api/memories/:id",
    words: {
      id: "deleteMemory",
      tag: "remember",
      summary: "Delete a memory for good",
      description: "Its key goes with it. Asking again does no harm.",
      answer: memoryAnswer("Deleted"),
      means: "It is gone",
      others: { 404: "There is no such memory" },
    },
    token: WRITES,
    async answer({ caller, params }) {
      const id = params["id"] ?? "";
      if (!isRecordId(id)) return MISSING;
      const { owner, grant } = caller;
      const outcome = await removeMemory(owner, id, { ...parts, grant });
      switch (outcome.kind) {
        case "removed":
          return ok({
            deleted: true,
            memory_id: id,
            // Empty for a text that was not stored yet.
            blob_id: outcome.blobId ?? "",
            receipt: parts.receipts.sign({
              kind: "delete",
              owner: caller.owner,
              namespace: outcome.namespace,
              memoryId: id,
              blobId: outcome.blobId,
              timeMs: Math.floor(parts.clock.nowMs()),
            }),
          });
        case "missing":
          return MISSING;
        case "busy":
          return BUSY;
      }
    },
  };
}

const MISSING: Answer = refused(
  404,
  "Cannot delete memory: it does not exist",
);

const BUSY: Answer = refused(
  503,
  "Cannot delete memory: it is being stored; try again",
  { retryAfterMs: 1_000 },
);
