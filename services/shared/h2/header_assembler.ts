/**
 * Puts a header block together that comes in several frames (RFC 9113, section
 * 6.10).
 *
 * @module
 */

import type { ByteBudget } from "../connection_memory.ts";
import type { ByteSpan } from "./byte_span.ts";
import type { H2Limits } from "./limits.ts";

/** How large a header block may be. */
type HeaderBlockLimits = Pick<
  H2Limits,
  "maxHeaderBlockBytes" | "maxContinuations"
>;

const NO_BYTES = new Uint8Array(0);

/**
 * Joins the parts of a header block that comes in several frames. Only large
 * blocks do, so what it holds counts in the budget of unfinished messages.
 */
export class HeaderAssembler {
  readonly #limits: HeaderBlockLimits;
  readonly #budget: ByteBudget;
  #bytes = NO_BYTES;
  #length = 0;
  #continuations = 0;
  #streamId = 0;
  #endsStream = false;

  /** An assembler without a block. */
  constructor(limits: HeaderBlockLimits, budget: ByteBudget) {
    this.#limits = limits;
    this.#budget = budget;
  }

  /** The stream of the block that has begun; 0 when none has. */
  get streamId(): number {
    return this.#streamId;
  }

  /** Whether the block belongs to the last frame of its stream's request. */
  get endsStream(): boolean {
    return this.#endsStream;
  }

  /**
   * Begins with the first part of a block; false when it is too large, or no
   * memory is left.
   */
  begin(first: ByteSpan, streamId: number, endsStream: boolean): boolean {
    this.#streamId = streamId;
    this.#endsStream = endsStream;
    this.#continuations = 0;
    this.#length = 0;
    return this.#append(first);
  }

  /**
   * Adds a further part; false when there are too many or too much of it, or
   * no memory is left.
   */
  append(part: ByteSpan): boolean {
    this.#continuations++;
    return this.#continuations <= this.#limits.maxContinuations &&
      this.#append(part);
  }

  /** Returns the whole block, to be used at once, and gets ready for the next. */
  end(): ByteSpan {
    const block = { bytes: this.#bytes, start: 0, end: this.#length };
    this.#budget.give(this.#bytes.length);
    this.#bytes = NO_BYTES;
    this.#streamId = 0;
    return block;
  }

  #append({ bytes, start, end }: ByteSpan): boolean {
    const length = this.#length + end - start;
    if (length > this.#limits.maxHeaderBlockBytes) return false;
    const held = this.#bytes;
    if (held.length < length) {
      const grownBytes = Math.max(length, held.length * 2);
      if (!this.#budget.take(grownBytes)) return false;
      const grown = new Uint8Array(grownBytes);
      grown.set(held.subarray(0, this.#length));
      this.#bytes = grown;
      this.#budget.give(held.length);
    }
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length = length;
    return true;
  }
}
