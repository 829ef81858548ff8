/**
 * Rows of the store: jobs, memories, and tombstones of memories.
 *
 * @module
 */

/** The status of a job, which stores one memory. */
export type JobStatus =
  /**
   * Unfinished: the first status of extracted facts, and of jobs that are
   * redone.
   */
  | "pending"
  /**
   * Unfinished: the first status of remembered texts. Attempts change neither.
   */
  | "running"
  /**
   * The blob is stored and the row is in the index: recall finds the memory.
   */
  | "uploaded"
  /** All that follows the upload is done, too. */
  | "done"
  /** The job was given up. */
  | "failed";

/** A job before it is in the store. */
export interface NewJob {
  /** The job's id; that of the memory as well. */
  readonly id: string;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The public key of the delegate that sent it, 64 hexadecimal digits. */
  readonly agentId: string;
  /** The status that it is added with. */
  readonly status: JobStatus;
  /** When the next attempt may begin, in milliseconds since the epoch. */
  readonly nextAttemptAtMs: number;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The sealed blob to be stored, which only the owner's keys open. */
  readonly payload: Uint8Array;
  /** The key that opens the payload. */
  readonly keyId: string;
  /** How much it matters, 0 to 1. */
  readonly importance: number;
  /** The id of the older memory that this one replaces. */
  readonly supersedes?: string | undefined;
  /** The salted hash of its text; absent in jobs of earlier programs. */
  readonly contentHash?: string | undefined;
}

/** A job as it is in the store. */
export interface JobRow extends Omit<NewJob, "payload"> {
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** When it changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** The instance that works on it, or did last. */
  readonly leasedBy?: string | undefined;
  /**
   * Until when no other instance takes it, in milliseconds since the epoch;
   * absent when no instance has it.
   */
  readonly leasedUntilMs?: number | undefined;
  /** The blob to be stored; absent once it is in the blob store. */
  readonly payload?: Uint8Array | undefined;
  /**
   * The id of its blob, once the blob is stored; while the job is unfinished,
   * that of a blob which may be stored.
   */
  readonly blobId?: string | undefined;
  /** Why the job failed, in words fit for its owner. */
  readonly error?: string | undefined;
}

/** A memory's row of the index before it is in the store. */
export interface NewMemory {
  /** The memory's id. */
  readonly id: string;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The blob that holds the text. */
  readonly blobId: string;
  /** The blob's bytes. */
  readonly sizeBytes: number;
  /** When the memory was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The public key of the delegate that wrote it; null when that is not known. */
  readonly agentId: string | null;
  /** The ledger package whose policy guards the memory; null if not known. */
  readonly packageId: string | null;
  /** How much the memory matters, 0 to 1; null if not known. */
  readonly importance: number | null;
  /** The key that opens the blob; absent when only the client can open it. */
  readonly keyId?: string | undefined;
  /** Vector and metadata, sealed for the owner. */
  readonly sealedIndex: Uint8Array;
  /** The id of the older memory that this one replaces. */
  readonly supersedes?: string | undefined;
}

/** A memory's row as it is in the store. */
export interface MemoryRow extends NewMemory {
  /** When it changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /**
   * The number of its last change that listings show; greater than that of any
   * change before.
   */
  readonly change: number;
  /**
   * The id of the newer memory that replaces this one, which is kept, but left
   * out by recall.
   */
  readonly supersededBy?: string | undefined;
}

/**
 * The record that a removed row leaves, so that clients learn of the removal.
 */
export interface Tombstone {
  /** The row's id. */
  readonly id: string;
  /** Its namespace. */
  readonly namespace: string;
  /** When it was removed, in milliseconds since the epoch. */
  readonly deletedAtMs: number;
  /** The number of the change that removed it. */
  readonly change: number;
}

/** A client's idempotency key, and the request that it was used for. */
export interface KeyClaim {
  /** The owner's address. */
  readonly owner: string;
  /** The key; each owner has keys of its own. */
  readonly key: string;
  /** A keyed digest of the request. */
  readonly fingerprint: string;
  /** The ids of the jobs that were made for the request. */
  readonly jobIds: readonly string[];
  /** When the key is free again, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** The points of a quota that a key or an account spent within a minute. */
export interface RateWindow {
  /** The layer of the rate limit, then the key or account. */
  readonly name: string;
  /** The minute, in minutes since the epoch. */
  readonly minute: number;
  /** The points that were spent. */
  readonly points: number;
}
