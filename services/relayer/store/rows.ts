/**
 * Rows of the store: jobs, memories, and tombstones of memories.
 *
 * @module
 */

/** Where a job is. */
export type JobStatus =
  /** Not begun. */
  | "pending"
  /** Begun. */
  | "running"
  /** Its blob is stored and its row is in the index: recall finds it. */
  | "uploaded"
  /** What had to be noted elsewhere is noted. */
  | "done"
  /** It was given up. */
  | "failed";

/** A job before it is in the store. */
export interface NewJob {
  /** The job's id; that of the memory as well. */
  readonly id: string;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The public key of the delegate that asked, 64 hexadecimal digits. */
  readonly agentId: string;
  /** How it begins. */
  readonly status: JobStatus;
  /** When it may be begun, in milliseconds since the epoch. */
  readonly nextAttemptAtMs: number;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /**
   * What is to be stored: the blob itself, which only the owner's keys open.
   */
  readonly payload: Uint8Array;
  /** The key that opens the payload. */
  readonly keyId: string;
  /** How much it matters, 0 to 1. */
  readonly importance: number;
  /** The memory that it takes the place of. */
  readonly supersedes?: string | undefined;
  /** The salted hash of its text; absent in jobs of earlier programs. */
  readonly contentHash?: string | undefined;
}

/** A job as it is in the store. */
export interface JobRow extends Omit<NewJob, "payload"> {
  /** 1 at first, one more with each change. */
  readonly version: number;
  /** How often it was begun. */
  readonly attempts: number;
  /** When it changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** What is to be stored; absent once it is in the blob store. */
  readonly payload?: Uint8Array | undefined;
  /** Its blob, once there is one. */
  readonly blobId?: string | undefined;
  /** Why it failed, in words fit for its owner. */
  readonly error?: string | undefined;
}

/** A row before it is in the store. */
export interface NewMemory {
  /** Its id. */
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
  /** The ledger package whose policy guards it. */
  readonly packageId: string | null;
  /** How much it matters, 0 to 1. */
  readonly importance: number | null;
  /** The key that opens the blob; absent when only the client can open it. */
  readonly keyId?: string | undefined;
  /** Vector and metadata, sealed for the owner. */
  readonly sealedIndex: Uint8Array;
  /** The memory whose place it takes. */
  readonly supersedes?: string | undefined;
}

/** A row as it is in the store. */
export interface MemoryRow extends NewMemory {
  /** When it changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** The number of that change; greater than that of any change before. */
  readonly change: number;
  /** The memory that took its place; it is kept, but recall leaves it out. */
  readonly supersededBy?: string | undefined;
}

/** What is left of a removed row. */
export interface Tombstone {
  /** The row's id. */
  readonly id: string;
  /** Its namespace. */
  readonly namespace: string;
  /** When it was removed, in milliseconds since the epoch. */
  readonly deletedAtMs: number;
  /** The number of that change. */
  readonly change: number;
}
