/**
 * Whether the storage takes writes: known from what failed last, and from tries
 * after that.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import { isDamagedError } from "../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../shared/store_failed_error.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";

/**
 * Tells whether the storage of this machine failed: its disk is full, broken or
 * read-only, or a file is damaged. Work is not to blame for it and can be done
 * once that is mended.
 */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof StoreFailedError ||
    (error instanceof BlobStoreError && error.isLocal);
}

/** Watches over the storage of this machine. */
export class StorageWatch {
  readonly #tryWrite: () => Promise<void>;
  readonly #logger: Logger;
  #state: "ready" | "failing" | "damaged" = "ready";
  #isTrying = false;

  /**
   * Storage that has not failed yet.
   *
   * @param tryWrite Writes as storing a memory does; rejects when that cannot be
   * done.
   * @param logger Told once when writing begins to fail, and once when it works
   * again.
   */
  constructor(tryWrite: () => Promise<void>, logger: Logger) {
    this.#tryWrite = tryWrite;
    this.#logger = logger;
  }

  /** Whether what is written now would be kept, as far as is known. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  /**
   * Notes what something failed with.
   *
   * @returns whether the storage was to blame, so that it needs no other line in
   * the log
   */
  note(error: unknown): boolean {
    if (!isStorageFailure(error)) return false;
    const isFirst = this.#state === "ready";
    // A try at the end of a file says nothing of a page in the middle.
    const isDamaged = error instanceof Error && isDamagedError(error.cause);
    if (isDamaged) this.#state = "damaged";
    else if (isFirst) this.#state = "failing";
    if (isFirst) {
      this.#logger.error(
        "The storage failed: requests that need it are answered with 503",
        { error: describeError(error) },
      );
    }
    return true;
  }

  /** Tries to write when the storage has failed; one try at a time. */
  async check(): Promise<void> {
    if (this.#state !== "failing" || this.#isTrying) return;
    this.#isTrying = true;
    try {
      await this.#tryWrite();
      this.#state = "ready";
      this.#logger.info("The storage takes what is written again");
    } catch (error) {
      this.#logger.debug("The storage still fails", {
        error: describeError(error),
      });
    } finally {
      this.#isTrying = false;
    }
  }
}
