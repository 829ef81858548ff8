/**
 * Removes blobs once more whose memories were deleted. An attempt of the job
 * may have put its blob after the deletion had looked for it, and its relayer
 * may have died before it noticed. Nothing can open such a blob; it takes room.
 *
 * @module
 */

import { type BlobStore, computeBlobId } from "../blobs/blob_store.ts";
import type { JobRow } from "../store/rows.ts";
import type { Change } from "../store/changes.ts";
import type { RelayerStore } from "../store/store.ts";

/** The calls of the store by which left blobs are found. */
export type LeftBlobCalls = "deletedJobs" | "commit";

/**
 * How long after a deletion an attempt may still put its blob: longer than a
 * batch of jobs may take, and than a relayer that hangs keeps its leases.
 */
export const LEFT_BLOB_MS = 180_000;

const STEP_JOBS = 200;
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/**
 * What a deletion writes into a job, so that its blob is removed once more. A
 * blob of which only the blob store knows the id is not known before it is
 * there.
 */
export function noteDeletion(
  { blobId, payload }: Pick<JobRow, "blobId" | "payload">,
  nowMs: number,
): { readonly blobId: string | undefined; readonly nextAttemptAtMs: number } {
  return {
    blobId: blobId ?? (payload && computeBlobId(payload)),
    nextAttemptAtMs: nowMs + LEFT_BLOB_MS,
  };
}

/**
 * Removes the blobs of all jobs that were deleted long enough ago; does nothing
 * where only the blob store knows ids.
 *
 * @throws what the stores throw; blobs that are left are removed by a later call
 */
export async function removeLeftBlobs(
  { store, blobs }: {
    readonly store: Pick<RelayerStore, LeftBlobCalls>;
    readonly blobs: Pick<BlobStore, "remove" | "hasHashIds">;
  },
  { nowMs, signal }: {
    /** The time of the store, in milliseconds since the epoch. */
    readonly nowMs: number;
    /** Ends the work after the current step. */
    readonly signal: AbortSignal;
  },
): Promise<void> {
  if (!blobs.hasHashIds) return;
  for (;;) {
    const jobs = await store.deletedJobs({ nowMs, limit: STEP_JOBS });
    if (jobs.length === 0) return;
    const changes: Change[] = [];
    for (const { owner, id, version, blobId } of jobs) {
      const isGone = blobId === undefined || await blobs.remove(blobId);
      const nextAttemptAtMs = isGone ? NEVER_MS : nowMs + LEFT_BLOB_MS;
      changes.push({
        ...{ kind: "job", owner, id, expectedVersion: version },
        patch: { nextAttemptAtMs },
      });
    }
    const { kind } = await store.commit(changes);
    // A job that was changed meanwhile is looked at by the next call.
    if (kind === "conflict" || signal.aborted) return;
  }
}
