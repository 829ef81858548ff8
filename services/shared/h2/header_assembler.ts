/**
 * Puts header blocks together that come in several frames (RFC 9113, 4.3).
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import type { H2Limits } from "./limits.ts";

const NO_BYTES = new Uint8Array(0);

/** A block that has begun. */
export class HeaderAssembler {
  readonly #limits: H2Limits;
  #bytes = NO_BYTES;
  #length = 0;
  #continuations = 0;
  #streamId = 0;
  #endsStream = false;

  /** Nothing has begun. */
  constructor(limits: H2Limits) {
    this.#limits = limits;
  }

  /** The stream of the block that has begun; 0 when none has. */
  get streamId(): number {
    return this.#streamId;
  }

  /** Whether the block belongs to the last frame of its stream's request. */
  get endsStream(): boolean {
    return this.#endsStream;
  }

  /** Begins with the first part of a block; false when it is too large. */
  begin(first: ByteSpan, streamId: number, endsStream: boolean): boolean {
    this.#streamId = streamId;
    this.#endsStream = endsStream;
    this.#continuations = 0;
    this.#length = 0;
    return this.#append(first);
  }

  /** Adds a further part; false when there are too many or too much of it. */
  append(part: ByteSpan): boolean {
    this.#continuations++;
    return this.#continuations <= this.#limits.maxContinuations &&
      this.#append(part);
  }

  /** Gives the whole block; nothing has begun after it. */
  end(): ByteSpan {
    const block = { bytes: this.#bytes, start: 0, end: this.#length };
    this.#bytes = NO_BYTES;
    this.#streamId = 0;
    return block;
  }

  #append({ bytes, start, end }: ByteSpan): boolean {
    const length = this.#length + end - start;
    if (length > this.#limits.maxHeaderBlockBytes) return false;
    if (this.#bytes.length < length) {
      const grown = new Uint8Array(Math.max(length, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length = length;
    return true;
  }
}
