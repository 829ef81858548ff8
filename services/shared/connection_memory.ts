/**
 * Memory that the connections of a server share: a limit on the bytes that all
 * hold together, and a pool of buffers, so that idle connections hold none.
 *
 * @module
 */

/** Bytes that may be held, in all, at a time. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #parent: ByteBudget | undefined;
  #usedBytes = 0;

  /** A budget of `maxBytes`; what it takes also counts in `parent`. */
  constructor(maxBytes: number, parent?: ByteBudget) {
    this.#maxBytes = maxBytes;
    this.#parent = parent;
  }

  /** Bytes taken and not given back. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Takes `bytes`; returns false and takes none when fewer are left. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false;
    if (this.#parent !== undefined && !this.#parent.take(bytes)) return false;
    this.#usedBytes += bytes;
    return true;
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#usedBytes -= bytes;
    this.#parent?.give(bytes);
  }
}

/** Lends buffers of one size. */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #maxKept: number;
  readonly #kept: Uint8Array[] = [];

  /**
   * A pool that holds no buffer yet. It keeps `maxKept` unused ones at most;
   * the others are left to the garbage collector.
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
