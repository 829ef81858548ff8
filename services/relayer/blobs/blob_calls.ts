/**
 * The calls of a store that names blobs by their hash: those that it takes, and
 * those that it waits for when it stops.
 *
 * @module
 */

import {
  type BlobCallOptions,
  BlobStoreError,
  computeBlobId,
} from "./blob_store.ts";

/** Why a call fails whose signal has aborted. */
export const ENDED = "the call was ended";
/** Why a call fails that comes before the start or after the stop. */
export const STOPPED = "the store is not started";

/** Takes calls from the start to the stop. */
export class BlobCalls {
  readonly #maxBytes: number;
  readonly #underWay = new Set<Promise<unknown>>();
  #isOpen = false;

  /** Takes no call yet; blobs of more than `maxBytes` never. */
  constructor(maxBytes = 8_388_608) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the store is started. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Takes calls from now on. */
  start(): void {
    this.#isOpen = true;
  }

  /** Takes no more calls, and waits for those that are under way. */
  async stop(): Promise<void> {
    this.#isOpen = false;
    await Promise.allSettled([...this.#underWay]);
  }

  /**
   * Returns the id of a blob that is to be stored.
   *
   * @throws {BlobStoreError} when it is too large, the store is not started, or
   * the call was ended
   */
  admit(bytes: Uint8Array, { signal }: BlobCallOptions): string {
    if (!this.#isOpen) throw refusal(STOPPED);
    if (bytes.length > this.#maxBytes) {
      throw new BlobStoreError(
        `Cannot store blob: it has ${bytes.length} bytes, ` +
          `${this.#maxBytes} is the most`,
        { isPassing: false },
      );
    }
    if (signal?.aborted) throw refusal(ENDED);
    return computeBlobId(bytes);
  }

  /** Lets {@linkcode BlobCalls.stop} wait for a call. */
  async track<Result>(call: Promise<Result>): Promise<Result> {
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  }
}

/** Makes the error of a call that a retry may succeed with. */
export function refusal(
  reason: string,
  options: { readonly isLocal?: boolean } = {},
): BlobStoreError {
  return new BlobStoreError(`Cannot store blob: ${reason}`, {
    ...options,
    isPassing: true,
  });
}
