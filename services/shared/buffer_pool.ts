/**
 * Buffers that are lent and taken back, so that what is idle holds none.
 *
 * @module
 */

/** Options of {@linkcode BufferPool}. */
interface BufferPoolOptions {
  /** Bytes of a buffer. */
  readonly bufferBytes: number;
  /**
   * Unused buffers that are kept at most; the others are left to the garbage
   * collector.
   */
  readonly maxKept: number;
}

/** Lends buffers of one size. */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #maxKept: number;
  readonly #kept: Uint8Array[] = [];

  /** A pool that holds no buffer yet. */
  constructor(options: BufferPoolOptions) {
    this.#bufferBytes = options.bufferBytes;
    this.#maxKept = options.maxKept;
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
