/**
 * A bound on the bodies of all requests together.
 *
 * @module
 */

/** Bytes that bodies under way may hold. */
export class BodyBudget {
  readonly #maxBytes: number;
  #takenBytes = 0;

  /** A budget of `maxBytes`, nothing of it taken. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are taken now. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * Takes bytes.
   *
   * @returns False, and nothing is taken, when there are not so many left.
   */
  take(bytes: number): boolean {
    if (this.#takenBytes + bytes > this.#maxBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** Gives back what was taken. */
  giveBack(bytes: number): void {
    this.#takenBytes -= bytes;
  }
}
