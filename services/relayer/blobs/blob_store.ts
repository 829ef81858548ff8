/**
 * The interfaces of the blob store, where the same bytes always have the same
 * id, and of the catalogue, which knows the blobs of each owner. A lost index
 * is rebuilt from the catalogue, so the two are kept apart.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The outcome of asking for a blob. */
export type BlobOutcome =
  | { readonly kind: "ok"; readonly bytes: Uint8Array }
  /** There is no such blob; a retry will not change that. */
  | { readonly kind: "missing" }
  /** The store does not respond now; a retry may help. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** Keeps blobs. */
export interface BlobStore {
  /**
   * Whether the id of each blob is the one that {@linkcode computeBlobId} gives, so
   * that it is known before the blob is stored.
   */
  readonly hasHashIds: boolean;
  /** Prepares the store. */
  start(): Promise<void>;
  /** Ends calls that are under way. */
  stop(): Promise<void>;
  /**
   * Stores a blob; it is durable when this resolves.
   *
   * @returns the blob's id
   * @throws {BlobStoreError} when the store refuses the blob
   */
  put(bytes: Uint8Array, options?: BlobCallOptions): Promise<string>;
  /** Reads a blob. */
  get(blobId: string, options?: BlobCallOptions): Promise<BlobOutcome>;
  /**
   * Returns whether a blob is known to be gone, without reading it; false as
   * well where the store cannot tell.
   */
  isGone(blobId: string): Promise<boolean>;
  /** Removes a blob where the store can; returns whether the blob is gone. */
  remove(blobId: string): Promise<boolean>;
}

/** Options of a call of the blob store. */
export interface BlobCallOptions {
  /**
   * Aborts the call.
   *
   * @default the call is not aborted
   */
  readonly signal?: AbortSignal | undefined;
}

/** A blob could not be stored. */
export class BlobStoreError extends Error {
  /** The name of the class. */
  override readonly name = "BlobStoreError";
  /** Whether a retry can succeed. */
  readonly isPassing: boolean;
  /**
   * How long the store asks to wait before a retry, in milliseconds; undefined
   * where it does not say.
   */
  readonly retryAfterMs: number | undefined;
  /** Whether the blobs are on this machine, so that its own disk failed. */
  readonly isLocal: boolean;

  /** Makes an error with a message for the operator. */
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

/** A memory's blob, as the catalogue knows it. */
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
  /** The size of the blob in bytes. */
  readonly sizeBytes: number;
  /**
   * Vector and metadata, sealed for the owner, of a blob that only the client
   * can open, since the relayer cannot embed it again. Undefined for all other
   * memories.
   */
  readonly sealedIndex?: Uint8Array | undefined;
  /**
   * How much the memory matters, 0 to 1, where only the client can open the
   * blob.
   */
  readonly importance?: number | undefined;
  /** The id of the memory that this one replaces. */
  readonly supersedes?: string | undefined;
  /**
   * The secret from which, with the owner's key, the memory's key is derived,
   * where the blob is behind key servers: with it the memory can be restored to
   * a relayer that has lost everything, and without it no one can open the
   * blob.
   */
  readonly memorySecret?: Uint8Array | undefined;
  /**
   * The id of the memory that replaced this one. It stays named when that
   * memory is deleted or forgotten: a replaced memory is history and never
   * comes back.
   */
  readonly supersededBy?: string | undefined;
}

/** A new entry; the catalogue itself knows which memory replaced it. */
export type NewCatalogEntry = Omit<CatalogEntry, "supersededBy">;

/**
 * The blob that replaces a memory's former blob; without `sealedIndex` the
 * entry keeps the one it has.
 */
export type MovedBlob = Pick<
  CatalogEntry,
  "blobId" | "sizeBytes" | "memorySecret" | "sealedIndex"
>;

/** Knows which blobs each owner has. */
export interface BlobCatalog {
  /**
   * Adds an entry, and notes which memory it replaces, whichever of the two is
   * added first. Adding it again changes nothing. Durable when this resolves.
   */
  add(entry: NewCatalogEntry): Promise<void>;
  /**
   * Replaces the blob in a memory's entry; does nothing when there is no entry.
   * Durable when this resolves.
   */
  move(owner: string, memoryId: string, to: MovedBlob): Promise<void>;
  /** Removes an entry. A memory that it replaced stays replaced. */
  remove(owner: string, memoryId: string): Promise<void>;
  /** Returns the entry of a memory; undefined when there is none. */
  findEntry(owner: string, memoryId: string): Promise<CatalogEntry | undefined>;
  /** How many memories, of any owner, have a blob. */
  countHolders(blobId: string): Promise<number>;
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
 * Returns the id of a blob that is stored as a file: the SHA-256 of its bytes
 * as base64url without padding. So the same bytes are one blob, and a changed
 * file is noticed.
 */
export function computeBlobId(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/**
 * Returns the place of a blob within the folder; undefined when the id is not
 * valid.
 */
export function blobPath(
  blobId: string,
): { readonly folder: string; readonly name: string } | undefined {
  if (!FORM.test(blobId)) return undefined;
  // As hexadecimal digits: some file systems do not distinguish upper and lower
  // case.
  const hex = Uint8Array.fromBase64(blobId, { alphabet: "base64url" }).toHex();
  return { folder: hex.slice(0, 2), name: hex.slice(2) };
}
