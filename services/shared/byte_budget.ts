/**
 * A bound for the bytes that many hold together.
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

  /** Takes `bytes`, or nothing at all when they are more than is left. */
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
