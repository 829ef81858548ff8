/**
 * Bytes gathered into one piece. Small pieces are copied together as they come,
 * so that a client that sends single bytes holds no more memory than another.
 *
 * @module
 */

const FIRST_CAPACITY = 1024;

/** Options of {@linkcode PublicGather}. */
export interface PublicGatherOptions {
  /** The most that will ever be gathered. */
  readonly maxBytes: number;
  /** Asked before memory is taken, in bytes; false refuses it. */
  readonly allow: (bytes: number) => boolean;
}

/** Gathers bytes. */
export class PublicGather {
  readonly #options: PublicGatherOptions;
  #buffer = new Uint8Array(0);
  #length = 0;

  /** Takes no memory yet. */
  constructor(options: PublicGatherOptions) {
    this.#options = options;
  }

  /** How many bytes there are. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds bytes.
   *
   * @returns False, with nothing added, when the memory was refused.
   */
  add(bytes: Uint8Array): boolean {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length && !this.#grow(length)) return false;
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
    return true;
  }

  /** All of it, as the owner of its memory. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#length === this.#buffer.length
      ? this.#buffer
      : this.#buffer.slice(0, this.#length);
  }

  #grow(length: number): boolean {
    const { maxBytes, allow } = this.#options;
    const doubled = Math.max(FIRST_CAPACITY, 2 * this.#buffer.length);
    const capacity = Math.max(length, Math.min(maxBytes, doubled));
    if (!allow(capacity - this.#buffer.length)) return false;
    const old = this.#buffer.subarray(0, this.#length);
    this.#buffer = new Uint8Array(capacity);
    this.#buffer.set(old);
    return true;
  }
}
