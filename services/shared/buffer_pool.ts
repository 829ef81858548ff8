/**
 * Buffers that are lent and taken back, so that what is idle holds none.
 *
 * @module
 */

/** Lends buffers of one size. */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #maxKept: number;
  readonly #kept: Uint8Array[] = [];

  /**
   * A pool that holds no buffer yet. It keeps `maxKept` unused ones at most; the
   * others are left to the garbage collector.
   */
  constructor(bufferBytes: number, maxKept: number) {
    this.#bufferBytes = bufferBytes;
    this.#maxKept = maxKept;
  }

  /** Returns a buffer with any content; it is the caller's until given back. */
  take(): Uint8Array {
    return this.#kept.pop() ?? new Uint8Array(this.#bufferBytes);
  }

  /** Takes a buffer back, which must no longer be read or written. */
  give(buffer: Uint8Array): void {
    if (this.#kept.length < this.#maxKept) this.#kept.push(buffer);
  }
}
