/**
 * Tracks whether this machine's storage accepts writes. A failed write marks it
 * as failing, and a later trial write that works marks it as ready again.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import { isDamagedError } from "../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";

/**
 * Tells whether the storage of this machine failed: its disk is full, broken or
 * read-only, or a file is damaged. The work that met the failure is not to
 * blame and can be done once the storage is repaired.
 */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof StoreFailedError ||
    (error instanceof BlobStoreError && error.isLocal);
}

/** Tracks whether this machine's storage accepts writes. */
export class StorageWatch {
  readonly #tryWrite: () => Promise<void>;
  readonly #logger: Logger;
  #state: "ready" | "failing" | "damaged" = "ready";
  #isTrying = false;

  /**
   * Starts with the storage as ready.
   *
   * @param tryWrite Writes in the way that storing a memory does; rejects when
   * that fails.
   * @param logger Gets one line when writing begins to fail, and one when it
   * works again.
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
   * Notes an error of some work.
   *
   * @returns whether the storage was to blame, so that the caller need not log
   * the error
   */
  note(error: unknown): boolean {
    if (!isStorageFailure(error)) return false;
    const isFirst = this.#state === "ready";
    // No trial ends this state: a write at the end of a file does not show that
    // a damaged page in the middle was repaired.
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
      this.#logger.info("The storage accepts writes again");
    } catch (error) {
      this.#logger.debug("The storage still fails", {
        error: describeError(error),
      });
    } finally {
      this.#isTrying = false;
    }
  }
}
