/**
 * What comes back from operations on whole namespaces and on single memories.
 *
 * @module
 */

/** A namespace was indexed again. */
export interface RestoreResult {
  /** Memories that were indexed now. */
  readonly restored: number;
  /** Memories that were indexed already and have their blobs. */
  readonly skipped: number;
  /** Blobs that can never be opened or hold no text. */
  readonly failed: number;
  /**
   * Memories whose blobs are gone, indexed or not: their texts cannot be read
   * any longer. Absent with older relayers; 0 where the blob store cannot tell.
   */
  readonly missing?: number;
  /** Blobs that were found. */
  readonly total: number;
  /** The namespace. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
  /** Whether there is more than was looked at: restore again. */
  readonly truncated: boolean;
  /** The memories that were indexed now; absent with older relayers. */
  readonly restored_ids?: readonly string[];
}

/** A namespace was taken from the index. */
export interface ForgetResult {
  /** How many memories are found no more. */
  readonly deleted: number;
  /** The namespace. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
}

/** One memory was deleted. */
export interface DeleteMemoryResult {
  /** True. */
  readonly deleted: boolean;
  /** The memory. */
  readonly memory_id: string;
  /**
   * The blob that held it, which can no longer be opened; empty when the text
   * was not stored yet.
   */
  readonly blob_id: string;
}

/** What a namespace holds. */
export interface StatsResult {
  /** How many memories there are. */
  readonly memory_count: number;
  /** Bytes that they take, encrypted. */
  readonly storage_bytes: number;
  /** The namespace. */
  readonly namespace: string;
  /** Address of the owner. */
  readonly owner: string;
}

/** Who signs. */
export interface WhoamiResult {
  /** The account. */
  readonly account_id: string;
  /** Address of its owner. */
  readonly owner: string;
  /** The package on the ledger that the account belongs to. */
  readonly package_id: string;
}
