/**
 * Jobs as clients see them.
 *
 * @module
 */

import type { JobRow, JobStatus } from "../../store/job_row.ts";
import type { MemoryRow } from "../../store/memory_row.ts";

/** What of a job is told. */
export interface JobView {
  /** Its id, that of the memory as well. */
  readonly job_id: string;
  /** Where it is. */
  readonly status: JobStatus;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** Its blob, once there is one. */
  readonly blob_id?: string;
  /** Why it failed. */
  readonly error?: string;
}

/**
 * The view of a job. An error is told only of a job that failed for good: while it
 * is tried again, nothing is lost yet.
 */
export function jobView(job: JobRow): JobView {
  const { id, status, owner, namespace, blobId, error } = job;
  return {
    job_id: id,
    status,
    owner,
    namespace,
    ...(blobId === undefined ? {} : { blob_id: blobId }),
    ...(status === "failed" && error !== undefined ? { error } : {}),
  };
}

/** The view of a job that is forgotten, while what it stored is there. */
export function storedJobView(memory: MemoryRow): JobView {
  const { id, owner, namespace, blobId } = memory;
  return { job_id: id, status: "done", owner, namespace, blob_id: blobId };
}
