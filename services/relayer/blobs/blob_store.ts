/**
 * Blobs, as ports: the store that keeps them, where the same bytes always have the
 * same id, and the catalogue of which blobs an owner has. The index is rebuilt from
 * the catalogue when it is lost, so the two are kept apart.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The outcome of asking for a blob. */
export type BlobOutcome =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  /** There is no such blob, and asking again will not change that. */
  | { readonly kind: "missing" }
  /** The store does not answer; it may later. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Keeps blobs. */
export interface BlobStore {
  /** Gets ready. */
  start(): Promise<void>;
  /** Ends what is under way. */
  stop(): Promise<void>;
  /**
   * Stores a blob; it is durable when this answers.
   *
   * @returns its id
   * @throws {BlobStoreError} when the store does not take it
   */
  put(bytes: Uint8Array, options?: BlobCallOptions): Promise<string>;
  /** Gets a blob. */
  get(blobId: string, options?: BlobCallOptions): Promise<BlobOutcome>;
  /**
   * Tells whether a blob is known to be gone, without reading it; false as well
   * where the store cannot tell.
   */
  isGone(blobId: string): Promise<boolean>;
  /** Removes a blob where the store can; true when it is gone. */
  remove(blobId: string): Promise<boolean>;
}

/** Options of a call. */
export interface BlobCallOptions {
  /**
   * Ends the call early.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
}

/** A blob could not be stored. */
export class BlobStoreError extends Error {
  /** The name of the class. */
  override readonly name = "BlobStoreError";
  /** Whether it is worth trying again. */
  readonly isPassing: boolean;
  /** When, where the store said so. */
  readonly retryAfterMs: number | undefined;
  /** Whether blobs are on this machine, whose disk refused it. */
  readonly isLocal: boolean;

  /** An error for the operator. */
  constructor(
    message: string,
    options: {
      readonly isPassing: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly isLocal?: boolean;
    },
  ) {
    super(message);
    this.isPassing = options.isPassing;
    this.retryAfterMs = options.retryAfterMs;
    this.isLocal = options.isLocal ?? false;
  }
}

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
  readonly sealedIndex?: Uint8Array | undefined;
  /** How much it matters, 0 to 1, where only the client can open the blob. */
  readonly importance?: number | undefined;
  /** The memory whose place it takes. */
  readonly supersedes?: string | undefined;
  /**
   * What the memory's key follows from beside its owner's key, where the blob is
   * behind key servers: with it the memory comes back to a relayer that has lost
   * everything, and without it no one can open the blob.
   */
  readonly memorySecret?: Uint8Array | undefined;
  /**
   * The memory that took its place. It stays named when that one is deleted or
   * forgotten: what was replaced once is history and never comes back.
   */
  readonly supersededBy?: string | undefined;
}

/** What is told of a blob when it is noted; the catalogue knows what replaced it. */
export type NewCatalogEntry = Omit<CatalogEntry, "supersededBy">;

/**
 * A blob that took the place of another; without `sealedIndex` the one there is stays.
 */
export type MovedBlob = Pick<
  CatalogEntry,
  "blobId" | "sizeBytes" | "memorySecret" | "sealedIndex"
>;

/** Knows which blobs an owner has. */
export interface BlobCatalog {
  /**
   * Notes a blob, and that it took another's place, whichever of the two is noted
   * first; noting it again changes nothing. Durable when it answers.
   */
  add(entry: NewCatalogEntry): Promise<void>;
  /**
   * Names the blob that took the place of a memory's; does nothing when nothing is
   * noted of it. Durable when it answers.
   */
  move(owner: string, memoryId: string, to: MovedBlob): Promise<void>;
  /** Forgets a blob. What it took the place of stays replaced. */
  remove(owner: string, memoryId: string): Promise<void>;
  /** What is noted of a memory; undefined when nothing is. */
  entryOf(owner: string, memoryId: string): Promise<CatalogEntry | undefined>;
  /** How many memories, of any owner, have a blob. */
  holdersOf(blobId: string): Promise<number>;
  /** Blobs of a namespace, the newest first, by (created, memory id). */
  list(
    owner: string,
    options: {
      readonly namespace: string;
      readonly limit: number;
      readonly after?: {
        readonly createdAtMs: number;
        readonly memoryId: string;
      } | undefined;
    },
  ): Promise<readonly CatalogEntry[]>;
}

const FORM = /^[A-Za-z0-9_-]{43}$/;

/**
 * The id of a blob that is kept as a file: the SHA-256 of its bytes as base64url
 * without padding, so that the same bytes are one blob, and a file that was changed
 * is noticed.
 */
export function blobIdOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/** Where a blob is within the folder; undefined when the id is not valid. */
export function blobPath(
  blobId: string,
): { readonly folder: string; readonly name: string } | undefined {
  if (!FORM.test(blobId)) return undefined;
  // As hexadecimal digits: some file systems take upper and lower case for one.
  const hex = Uint8Array.fromBase64(blobId, { alphabet: "base64url" }).toHex();
  return { folder: hex.slice(0, 2), name: hex.slice(2) };
}
