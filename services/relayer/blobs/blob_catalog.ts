/**
 * Which blobs an owner has, as a port: what the index is rebuilt from when it is
 * lost. It is kept apart from the index for that.
 *
 * @module
 */

/** A blob of an owner. */
export interface CatalogEntry {
  /** The blob's id. */
  readonly blobId: string;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The memory's id. */
  readonly memoryId: string;
  /** When the memory was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The public key of the delegate that wrote it. */
  readonly agentId: string;
  /** The blob's bytes. */
  readonly sizeBytes: number;
  /**
   * Vector and metadata, sealed for the owner, of a blob that only the client can
   * open: it cannot be embedded again. A memory that has it was made by hand.
   */
  readonly sealedIndex?: Uint8Array;
  /** How much it matters, 0 to 1, where only the client can open the blob. */
  readonly importance?: number;
  /** The memory whose place it takes. */
  readonly supersedes?: string;
  /**
   * The memory that took its place. It stays named when that one is deleted or
   * forgotten: what was replaced once is history and never comes back.
   */
  readonly supersededBy?: string;
}

/** What is told of a blob when it is noted; the catalogue knows what replaced it. */
export type NewCatalogEntry = Omit<CatalogEntry, "supersededBy">;

/** Knows which blobs an owner has. */
export interface BlobCatalog {
  /**
   * Notes a blob, and that it took another's place, whichever of the two is noted
   * first; noting it again changes nothing. Durable when it answers.
   */
  add(entry: NewCatalogEntry): Promise<void>;
  /** Forgets a blob. What it took the place of stays replaced. */
  remove(owner: string, memoryId: string): Promise<void>;
  /** Blobs of a namespace, the newest first, by (created, memory id). */
  list(
    owner: string,
    options: {
      readonly namespace: string;
      readonly limit: number;
      readonly after?: {
        readonly createdAtMs: number;
        readonly memoryId: string;
      };
    },
  ): Promise<readonly CatalogEntry[]>;
}
