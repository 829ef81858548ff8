/**
 * A row of the index: what is known of a memory beside its blob.
 *
 * @module
 */

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
  readonly keyId?: string;
  /** Vector and metadata, sealed for the owner. */
  readonly sealedIndex: Uint8Array;
  /** The memory whose place it takes. */
  readonly supersedes?: string;
}

/** A row as it is in the store. */
export interface MemoryRow extends NewMemory {
  /** When it changed last, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** The number of that change; greater than that of any change before. */
  readonly change: number;
  /** The memory that took its place; it is kept, but recall leaves it out. */
  readonly supersededBy?: string;
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
