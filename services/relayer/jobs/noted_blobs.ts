/**
 * Notes the blob of a job before it is put into the blob store. Where a vault
 * seals blobs once more, each attempt makes another blob, of which nothing else
 * would know after a crash or a failed commit: neither a deletion nor the next
 * attempt would remove it.
 *
 * @module
 */

import { type BlobStore, computeBlobId } from "../blobs/blob_store.ts";
import type { JobRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";

/**
 * Removes the blob that an earlier attempt left, and writes the id of the one
 * that an attempt is about to put into its job. Does nothing where the blob is
 * the job's payload, whose id is known as long as the job is, or where only the
 * blob store knows ids.
 *
 * @returns the job as the store has it now; undefined when it was changed
 *   elsewhere, so that this attempt has to end
 * @throws what the stores throw; the job has the id of every blob that is left
 */
export async function noteBlob(
  job: JobRow,
  bytes: Uint8Array,
  { blobs, store }: {
    readonly blobs: Pick<BlobStore, "remove" | "hasHashIds">;
    readonly store: Pick<RelayerStore, "commit">;
  },
): Promise<JobRow | undefined> {
  if (!blobs.hasHashIds || bytes === job.payload) return job;
  let current: JobRow | undefined = job;
  if (job.blobId !== undefined) {
    // The new version keeps an earlier attempt that took too long from going on
    // with its blob. The job keeps the id until the blob is gone.
    current = await withBlob(job, job.blobId, store);
    if (current === undefined) return undefined;
    await blobs.remove(job.blobId);
  }
  return await withBlob(current, computeBlobId(bytes), store);
}

async function withBlob(
  job: JobRow,
  blobId: string,
  store: Pick<RelayerStore, "commit">,
): Promise<JobRow | undefined> {
  const { owner, id, version } = job;
  const outcome = await store.commit([{
    kind: "job",
    owner,
    id,
    expectedVersion: version,
    patch: { blobId },
  }]);
  return outcome.kind === "conflict"
    ? undefined
    : { ...job, blobId, version: version + 1 };
}
