/**
 * Reads the messages of a request from the data of its stream (gRPC's
 * PROTOCOL-HTTP2.md, "Length-Prefixed-Message"), within a budget of bytes that
 * all streams share: one message, or any number for a streaming method.
 *
 * @module
 */

import type { ByteBudget } from "../connection_memory.ts";
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

  /** Bytes missing to the end of the prefix, or to that of the message. */
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

  /** Returns the bytes of the buffer to the budget; to be called at the end. */
  release(): void {
    this.#budget.give(this.#buffer.length);
    this.#buffer = NO_BYTES;
  }

  /** Checks the prefix as far as it has come, before any content is kept. */
  #checkPrefix(): MessageFault | undefined {
    if (this.#prefixLength > 0 && this.#prefix[0]! > 1) return "bad_flag";
    if (this.#prefixLength > 0 && this.#prefix[0] === 1) return "compressed";
    if (this.#prefixLength < MESSAGE_PREFIX_BYTES) return undefined;
    const [, a = 0, b = 0, c = 0, d = 0] = this.#prefix;
    this.#messageLength = (a << 24 | b << 16 | c << 8 | d) >>> 0;
    return this.#messageLength > this.#maxBytes ? "too_large" : undefined;
  }

  /**
   * Makes the buffer hold `length` bytes; false when the budget is used up. It
   * grows with the bytes received, not with the announced length of a message,
   * which may be a lie.
   */
  #makeRoom(length: number): boolean {
    const old = this.#buffer;
    if (length <= old.length) return true;
    const size = Math.min(
      this.#messageLength,
      Math.max(length, old.length * 2),
    );
    // While it is copied, both buffers count in the budget.
    if (!this.#budget.take(size)) return false;
    const grown = new Uint8Array(size);
    grown.set(old.subarray(0, this.#length));
    this.#budget.give(old.length);
    this.#buffer = grown;
    return true;
  }
}

/** Most messages that wait; limited bytes alone allow endless empty ones. */
const MAX_WAITING = 1_000;

/** Options of {@linkcode MessageIntake}. */
interface MessageIntakeOptions {
  /** Largest message, in bytes. */
  readonly maxBytes: number;
  /** Bounds what all messages that wait hold. */
  readonly budget: ByteBudget;
  /** Called when the last waiting message is taken: the peer may send more. */
  readonly onEmpty: () => void;
}

/**
 * Collects the messages of a streaming request until the method takes them. The
 * peer gets window for more when none waits, so that a peer which is faster
 * than the method is held back.
 */
export class MessageIntake {
  readonly #options: MessageIntakeOptions;
  /** Whole messages, and the memory of each. */
  readonly #waiting: MessageReader[] = [];
  #reader: MessageReader;
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** An intake that has seen nothing. */
  constructor(options: MessageIntakeOptions) {
    this.#options = options;
    this.#reader = this.#newReader();
  }

  /** Whether no whole message waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether the data so far ends with a whole message. */
  get isBetween(): boolean {
    return this.#reader.isUntouched;
  }

  /**
   * Takes further bytes.
   *
   * @returns What is wrong with them, if anything is; nothing may follow then.
   */
  append({ bytes, start, end }: ByteSpan): MessageFault | undefined {
    for (let at = start; at < end && !this.#isEnded;) {
      const to = Math.min(end, at + this.#reader.missingBytes);
      const fault = this.#reader.append({ bytes, start: at, end: to });
      if (fault !== undefined) return fault;
      at = to;
      if (this.#reader.message === undefined) continue;
      if (this.#waiting.length >= MAX_WAITING) return "no_room";
      this.#waiting.push(this.#reader);
      this.#reader = this.#newReader();
      this.#wake?.();
    }
    return undefined;
  }

  /** No message follows; those that wait can still be taken. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** The stream is over: drops all, and ends the iteration. Harmless twice. */
  close(): void {
    for (const reader of this.#waiting.splice(0)) reader.release();
    this.#reader.release();
    this.end();
  }

  /** The messages in their order; to be iterated once. */
  async *messages(): AsyncGenerator<Uint8Array, void> {
    while (true) {
      const reader = this.#waiting.shift();
      if (reader !== undefined) {
        const { message } = reader;
        reader.release();
        if (this.isEmpty && !this.#isEnded) this.#options.onEmpty();
        if (message !== undefined) yield message;
      } else if (this.#isEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake = resolve);
        this.#wake = undefined;
      }
    }
  }

  #newReader(): MessageReader {
    const { maxBytes, budget } = this.#options;
    return new MessageReader(maxBytes, budget);
  }
}
