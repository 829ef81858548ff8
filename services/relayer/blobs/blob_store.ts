/**
 * Keeps blobs, as a port. The same bytes always have the same id.
 *
 * @module
 */

/** What asking for a blob comes to. */
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
  readonly signal?: AbortSignal;
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

  /** An error for whoever runs the relayer. */
  constructor(
    message: string,
    options: {
      readonly isPassing: boolean;
      readonly retryAfterMs?: number;
      readonly isLocal?: boolean;
    },
  ) {
    super(message);
    this.isPassing = options.isPassing;
    this.retryAfterMs = options.retryAfterMs;
    this.isLocal = options.isLocal ?? false;
  }
}
