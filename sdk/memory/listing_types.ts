/**
 * What is said to list namespaces and memories, and what comes back.
 *
 * @module
 */

/** Which page of namespaces. */
export interface ListNamespacesOptions {
  /**
   * `next_cursor` of the page before.
   *
   * @default the first page
   */
  readonly cursor?: string | undefined;
  /**
   * Most entries of the page; the relayer gives no more than 500.
   *
   * @default {100}
   */
  readonly limit?: number | undefined;
}

/** Which page of memories. */
export interface ListMemoriesOptions extends ListNamespacesOptions {
  /**
   * Only memories of this namespace. They are chosen from the page after it
   * arrived, so the page may be short or empty while `has_more` is true.
   *
   * @default all
   */
  readonly namespace?: string | undefined;
}

/** A namespace. */
export interface NamespaceEntry {
  /** Its id. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** How many memories it has. */
  readonly memory_count: number;
  /** Bytes that they take. */
  readonly storage_used: number;
  /** When one of them changed last. */
  readonly updated_at: string;
}

/** A page of namespaces. */
export interface NamespacesResult {
  /** The namespaces, those that changed last at the end. */
  readonly namespaces: readonly NamespaceEntry[];
  /** Where the next page begins. */
  readonly next_cursor: string | null;
  /** Whether there is one; the length of a page says nothing. */
  readonly has_more: boolean;
  /** Version of the listing; when it changes, begin again without a cursor. */
  readonly snapshot_version: number;
}

/** A memory, without its text. */
export interface MemoryEntry {
  /** Its id. */
  readonly memory_id: string;
  /** Name of its namespace. */
  readonly namespace_id: string;
  /** The blob that holds it. */
  readonly blob_id: string;
  /** When it was written. */
  readonly created_at: string;
  /** When it changed last. */
  readonly updated_at: string;
  /** Bytes of its blob. */
  readonly size: number;
  /** Public key of the delegate that wrote it. */
  readonly agent_id: string | null;
  /** The package on the ledger that it belongs to. */
  readonly package_id: string | null;
  /** `active`, `superseded` or `expired`. */
  readonly status: string;
  /** The epoch of the blob store in which it ends. */
  readonly end_epoch: number | null;
  /** When that is. */
  readonly expires_at: string | null;
  /** How much it matters, 0 to 1. */
  readonly importance: number | null;
  /** The memory whose place it took, if any. */
  readonly supersedes?: string;
  /** The memory that took its place, if any. */
  readonly superseded_by?: string;
}

/** A memory that is no more. */
export interface DeletedMemory {
  /** Its id. */
  readonly memory_id: string;
  /** Name of its namespace. */
  readonly namespace_id: string;
  /** When it was deleted. */
  readonly deleted_at: string;
}

/** A page of memories. */
export interface MemoriesResult {
  /** The memories, those that changed last at the end. */
  readonly memories: readonly MemoryEntry[];
  /** Where the next page begins. */
  readonly next_cursor: string | null;
  /** Whether there is one; the length of a page says nothing. */
  readonly has_more: boolean;
  /** Version of the listing; when it changes, begin again without a cursor. */
  readonly snapshot_version: number;
  /** What was deleted since. */
  readonly deleted: readonly DeletedMemory[];
  /** Whether the cursor is too old: begin again without one. */
  readonly must_resync: boolean;
}
