/**
 * The one message of a request, from the data of its stream (PROTOCOL-HTTP2.md
 * of gRPC, "Length-Prefixed-Message"), within a budget of bytes that all
 * streams share.
 *
 * @module
 */

import type { ByteBudget } from "../byte_budget.ts";
import type { ByteSpan } from "./byte_span.ts";

/** Bytes before a message: a flag and the length. */
export const MESSAGE_PREFIX_BYTES = 5;

/** What is wrong with a body. */
export type MessageFault =
  | "compressed"
  | "bad_flag"
  | "too_large"
  | "no_room"
  | "several";

const NO_BYTES = new Uint8Array(0);

/** Collects a message that comes in several parts. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #budget: ByteBudget;
  readonly #prefix = new Uint8Array(MESSAGE_PREFIX_BYTES);
  #prefixLength = 0;
  #messageLength = 0;
  #buffer = NO_BYTES;
  #length = 0;

  /**
   * A reader that has seen nothing. `maxBytes` bounds its message, and `budget`
   * what all unfinished messages hold.
   */
  constructor(maxBytes: number, budget: ByteBudget) {
    this.#maxBytes = maxBytes;
    this.#budget = budget;
  }

  /**
   * Takes further bytes of the body.
   *
   * @returns What is wrong with them, if anything is; nothing may follow then.
   */
  append(part: ByteSpan): MessageFault | undefined {
    const { bytes, end } = part;
    let { start } = part;
    if (this.#prefixLength < MESSAGE_PREFIX_BYTES) {
      while (start < end && this.#prefixLength < MESSAGE_PREFIX_BYTES) {
        this.#prefix[this.#prefixLength++] = bytes[start++]!;
      }
      const fault = this.#checkPrefix();
      if (fault !== undefined) return fault;
    }
    if (start === end) return undefined;
    if (this.#length + end - start > this.#messageLength) return "several";
    if (!this.#makeRoom(this.#length + end - start)) return "no_room";
    this.#buffer.set(bytes.subarray(start, end), this.#length);
    this.#length += end - start;
    return undefined;
  }

  /** Bytes up to the end of what has begun: the prefix, or the message. */
  get missingBytes(): number {
    return this.#prefixLength < MESSAGE_PREFIX_BYTES
      ? MESSAGE_PREFIX_BYTES - this.#prefixLength
      : this.#messageLength - this.#length;
  }

  /** Whether not one byte has come. */
  get isUntouched(): boolean {
    return this.#prefixLength === 0;
  }

  /** The message; undefined when it is not whole. */
  get message(): Uint8Array | undefined {
    const isWhole = this.#prefixLength === MESSAGE_PREFIX_BYTES &&
      this.#length === this.#messageLength;
    return isWhole ? this.#buffer.subarray(0, this.#length) : undefined;
  }

  /** Gives its part of the budget back; to be called when all is done. */
  release(): void {
    this.#budget.give(this.#buffer.length);
    this.#buffer = NO_BYTES;
  }

  /** What is known is checked before any of the message is kept. */
  #checkPrefix(): MessageFault | undefined {
    if (this.#prefixLength > 0 && this.#prefix[0]! > 1) return "bad_flag";
    if (this.#prefixLength > 0 && this.#prefix[0] === 1) return "compressed";
    if (this.#prefixLength < MESSAGE_PREFIX_BYTES) return undefined;
    const [, a = 0, b = 0, c = 0, d = 0] = this.#prefix;
    this.#messageLength = (a << 24 | b << 16 | c << 8 | d) >>> 0;
    return this.#messageLength > this.#maxBytes ? "too_large" : undefined;
  }

  /** Grows with what has been received, not with what has been announced. */
  #makeRoom(length: number): boolean {
    const old = this.#buffer;
    if (length <= old.length) return true;
    const size = Math.min(
      this.#messageLength,
      Math.max(length, old.length * 2),
    );
    // While it is copied there are two of them.
    if (!this.#budget.take(size)) return false;
    const grown = new Uint8Array(size);
    grown.set(old.subarray(0, this.#length));
    this.#budget.give(old.length);
    this.#buffer = grown;
    return true;
  }
}
