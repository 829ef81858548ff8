/**
 * Notes the blob of a job before it is put into the blob store. Where a vault
 * seals blobs once more, each attempt makes another blob, of which nothing else
 * would know after a crash or a failed commit: neither a deletion nor the next
 * attempt would remove it.
 *
 * @module
 */

import { blobIdOf, type BlobStore } from "../blobs/blob_store.ts";
import type { JobRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";

/**
 * Writes the id of the blob that an attempt is about to put into its job, and
 * removes the blob that an earlier attempt left. Does nothing where the blob is
 * the job's payload, whose id is known as long as the job is, or where only the
 * blob store knows ids.
 *
 * @returns the job as the store has it now; undefined when it was changed
 *   elsewhere, so that this attempt has to end
 * @throws what the store throws
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
  const blobId = blobIdOf(bytes);
  const { owner, id, version } = job;
  const outcome = await store.commit([{
    kind: "job",
    owner,
    id,
    expectedVersion: version,
    patch: { blobId },
  }]);
  if (outcome.kind === "conflict") return undefined;
  // Not before the commit: until then an earlier attempt that took too long may
  // go on with its blob.
  if (job.blobId !== undefined && job.blobId !== blobId) {
    await blobs.remove(job.blobId);
  }
  return { ...job, blobId, version: version + 1 };
}
