/**
 * One at a time for each blob, where its bytes may be more than one memory's.
 *
 * @module
 */

/** Keeps those apart who store and remove the same blob. */
export class BlobLocks {
  /** What has to end first, by blob. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does it when whoever came before for the same blob is done. */
  async run<Result>(
    blobId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(blobId);
    const mine = before === undefined ? work() : before.then(work);
    // Who comes next waits for the end, whichever it is.
    const ended = mine.then(() => {}, () => {});
    this.#last.set(blobId, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(blobId) === ended) this.#last.delete(blobId);
    }
  }
}
