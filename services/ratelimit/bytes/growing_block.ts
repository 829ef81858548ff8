/**
 * A block of memory that grows where it is, so that nothing is copied however
 * much it holds.
 *
 * @module
 */

/** Up to here a block is copied when it grows: most never get there. */
const SMALL_BYTES = 2 ** 20;
/** Addresses that a larger block takes, of which it uses what it needs. */
const RESERVED_BYTES = 2 ** 32;
/** Where a machine gives out no such range of addresses. */
const LEAST_RESERVED_BYTES = 2 ** 26;
const STEP_BYTES = 2 ** 20;

/** Memory of any size; what it has not held yet is zero. */
export class GrowingBlock {
  #buffer = new ArrayBuffer(512);

  /** The memory; another one after {@linkcode GrowingBlock.reserve} says so. */
  get buffer(): ArrayBuffer {
    return this.#buffer;
  }

  /**
   * Makes room for so many bytes in all.
   *
   * @returns Whether {@linkcode GrowingBlock.buffer} is another one now, so that
   * views of it are to be made again. Otherwise they have grown with it.
   */
  reserve(bytes: number): boolean {
    const old = this.#buffer;
    if (bytes <= old.byteLength) return false;
    if (bytes <= SMALL_BYTES) {
      this.#buffer = new ArrayBuffer(Math.max(bytes, 2 * old.byteLength));
    } else {
      const step = Math.max(STEP_BYTES, old.byteLength >> 4);
      const length = Math.ceil((bytes + step) / 4_096) * 4_096;
      if (old.resizable && length <= old.maxByteLength) {
        old.resize(length);
        return false;
      }
      this.#buffer = reserved(length);
    }
    new Uint8Array(this.#buffer).set(new Uint8Array(old));
    return true;
  }
}

function reserved(length: number): ArrayBuffer {
  let bytes = Math.max(RESERVED_BYTES, 2 * length);
  for (;;) {
    try {
      return new ArrayBuffer(length, { maxByteLength: bytes });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      bytes /= 2;
      if (bytes < Math.max(LEAST_RESERVED_BYTES, length)) throw error;
    }
  }
}
